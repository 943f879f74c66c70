"""Beyond memory: a real log that is spilled, by person, gives the integers that it gives in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.model.inputs import Bound, Clip, LengthWeights, Ranked, UniformWeights
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")
BOUND = Bound(max_items=20, salt=b"salt")


def test_a_log_on_the_disk_gives_the_same_integers(data_dir):
    """Weights, sums, clipped sums and losses of 64 portions, with many people over the bound."""
    path = data_dir / "git_commit_words.parquet"
    held, spilled = open_duckdb(path), open_duckdb(path)
    spilled._room = replace(spilled._room, rows=200_000)  # noqa: SLF001  a twentieth of what a small machine holds
    one, many = held.incidence(SELECTION), spilled.incidence(SELECTION)
    top = one.histogram(500)
    ranked = Ranked(items=top.items, amplitudes=np.arange(1000, 1500))
    clips = [Clip(first=500, radius=9_000), Clip(first=100, radius=3_000)]

    assert (len(one.portions), len(many.portions)) == (1, 64)
    assert many.people == one.people
    for found in ("weights", "sums", "clipped", "losses", "everyone", "held"):
        assert all(map(np.array_equal, asked(one, found, ranked, clips), asked(many, found, ranked, clips))), found


def asked(held, found, ranked, clips):
    """One of the answers of an incidence, as arrays."""
    rule = UniformWeights(bound=BOUND, norm=2, share="held")
    match found:
        case "weights":
            made = held.weights(rule)
            return made.weights, made.items.buffer
        case "sums":
            made = held.sums(LengthWeights(bound=BOUND, columns=(tuple(range(20, 0, -1)), tuple(range(20)))))
            return made.sums, made.items.buffer
        case "clipped":
            return (held.clipped(ranked, clips[0]),)
        case "losses":
            return (held.losses(ranked, clips, unit=2**20),)
        case "everyone":
            return (np.array([held.everyone(rule)]),)
        case _:
            return (np.array([held.held(ranked.items)]),)
