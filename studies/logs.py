"""The logs of the studies: public ones by their name, others made from them, and small made-up ones for the tests.

A name says how a log is made:

    imdb                 the file imdb.parquet in HUSHCOUNT_DATA
    imdb 2-grams         runs of two words of imdb_text.parquet; "1-3-grams" for all of one to three words
    imdb x 16            sixteen people made one, so that lists are long and people few
    movielens_1m of 700  so many people, chosen by a fixed seed
    generated 0.9 8000x40   8,000 people of about 40 items each; item n is as common as n^-0.9
    reddit people        titles of reddit_titles handed out to people, as many to each as r/AskReddit's posters wrote
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushcount.app.bounded import Reading
from hushcount.audit.small_table import ITEM, USER, SmallTable
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.incidence import MemoryIncidence, encoded_incidence
from hushcount.engines.portions import Portion
from hushcount.model.inputs import Histogram, Int64s, Items
from hushcount.model.queries import Selection, TextItems

# r/AskReddit as the set-union paper describes it: how many posters, and how long their lists of words are (Table 1).
# Titles have about ten words, so lists of that length take titles in a number of this law.
_POSTERS, _TITLES_MEDIAN, _TITLES_SPREAD = 223_388, 2.2, 1.05
_MADE_PEOPLE, _MADE_ITEMS, _MADE_LONGEST = 4_000, 4_000, 120


@dataclass(frozen=True)
class Log:
    """One log: its name, and who has what."""

    name: str
    incidence: MemoryIncidence

    @cached_property
    def histogram(self) -> Histogram:
        """How many people have each item, the most held first."""
        return self.incidence.histogram()

    @cached_property
    def holdings(self) -> Reading:
        """Both views, for mechanisms that ask for either."""
        return Reading(
            data=SmallTable(self.incidence), selection=Selection(user=USER, item=ITEM), salt=b"sixteen bytes or"
        )

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.incidence.people

    @cached_property
    def items(self) -> Items:
        """All items, in the order of their texts."""
        return self.incidence.items[:]

    @property
    def offsets(self) -> Int64s:
        """Person j holds items[ids[offsets[j]:offsets[j + 1]]]."""
        return self._whole.offsets

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """Positions in `items`, person by person."""
        return self._whole.ids

    @property
    def times(self) -> Int64s:
        """How often each pair was seen."""
        return self._whole.times

    @cached_property
    def _whole(self) -> Portion:
        return self.incidence.whole()

    @cached_property
    def lengths(self) -> Int64s:
        """How many items each person has."""
        return np.diff(self.offsets)

    @cached_property
    def _known(self) -> dict[str, int]:
        return dict(zip(self.histogram.items.tolist(), self.histogram.counts.tolist(), strict=True))

    def true_counts(self, items: Items) -> Int64s:
        """How many people really have each of these items."""
        return np.array([self._known[item] for item in items.tolist()], dtype=np.int64)

    def percentile(self, share: float) -> int:
        """A percentile of the lengths of people's lists, as PCR takes it from the data itself (erratum 39)."""
        return int(np.percentile(self.lengths, share, method="higher"))


def place() -> Path:
    """The folder of the public logs."""
    said = os.environ.get("HUSHCOUNT_DATA")
    if not said or not any(Path(said).glob("*.parquet")):
        raise SystemExit("no data: set HUSHCOUNT_DATA to the folder that holds the parquet files (CONTRIBUTING.md)")
    return Path(said)


@lru_cache(maxsize=5)
def real(name: str) -> Log:
    """A public log, or one made from it, by its name."""
    if name == "reddit people":
        return Log(name, _grouped(real("reddit_titles"), _posters()))
    if found := re.fullmatch(r"(\w+) (?:(\d)-)?(\d)-grams", name):
        text = TextItems(column="text", shortest=int(found[2] or found[3]), longest=int(found[3]))
        return Log(name, _read(f"{found[1]}_text", text))
    if found := re.fullmatch(r"(.+) x (\d+)", name):
        return Log(name, merged(real(found[1]), int(found[2])))
    if found := re.fullmatch(r"(.+) of (\d+)", name):
        whole = real(found[1])
        chosen = np.random.default_rng(1).permutation(whole.people)[: int(found[2])]
        who = np.full(whole.people, -1)
        who[chosen] = np.arange(len(chosen))
        return Log(name, _grouped(whole, who))
    if found := re.fullmatch(r"generated ([\d.]+) (\d+)x(\d+)", name):
        chance = np.random.default_rng(zlib.crc32(name.encode()))
        lengths = 1 + np.rint(chance.lognormal(np.log(int(found[3])), 0.7, int(found[2]))).astype(np.int64)
        return Log(name, zipf(lengths, float(found[1]), items=50 * int(found[3]), chance=chance))
    return Log(name, _read(name, ITEM))


def _read(file: str, item: str | TextItems) -> MemoryIncidence:
    found = open_duckdb(place() / f"{file}.parquet").incidence(Selection(user=USER, item=item))
    assert isinstance(found, MemoryIncidence)  # noqa: S101  for the type checker
    return found


def merged(log: Log, together: int) -> MemoryIncidence:
    """The same pairs with so many people made one."""
    people = log.people // together
    order = np.random.default_rng(1).permutation(log.people)
    who = np.full(log.people, -1)
    who[order[: people * together]] = np.arange(people * together) // together
    return _grouped(log, who)


def _posters() -> npt.NDArray[np.int64]:
    """Whose title each is: titles are handed out in their order until every poster has theirs; -1 for those left."""
    titles = np.random.default_rng(2).lognormal(np.log(_TITLES_MEDIAN), _TITLES_SPREAD, _POSTERS)
    who = np.repeat(np.arange(_POSTERS), np.maximum(1, np.rint(titles).astype(np.int64)))
    everybody = np.full(real("reddit_titles").people, -1)
    everybody[: len(who)] = who[: len(everybody)]
    return everybody


def _grouped(log: Log, who: npt.NDArray[np.int64]) -> MemoryIncidence:
    """The pairs of people who are now somebody else; -1 for those who are left out."""
    person = np.repeat(who, log.lengths)
    ids = log.ids[person >= 0]
    person = person[person >= 0]
    order = np.lexsort((ids, person))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(person, minlength=int(who.max()) + 1))))
    return encoded_incidence(items=log.items, offsets=offsets, ids=ids[order])


@lru_cache(maxsize=8)
def made(name: str) -> Log:
    """A small log of people with few items or many, of which few are held by most and most by few; by its name."""
    chance = np.random.default_rng(zlib.crc32(name.encode()))
    lengths = np.minimum(np.rint(chance.lognormal(np.log(14), 0.9, _MADE_PEOPLE)).astype(np.int64) + 1, _MADE_LONGEST)
    return Log(name, zipf(lengths, 1.0, items=_MADE_ITEMS, chance=chance))


def zipf(
    lengths: npt.NDArray[np.int64], exponent: float, *, items: int, chance: np.random.Generator
) -> MemoryIncidence:
    """People with lists of these lengths or a little less; item n is drawn with probability in proportion to n^-s."""
    weight = np.arange(1, items + 1) ** -exponent
    steps = np.cumsum(weight / weight.sum())
    drawn = np.minimum(np.searchsorted(steps, chance.random(int(lengths.sum()))), items - 1)
    names = np.array([f"item {n:06}" for n in range(items)], dtype=object)
    return encoded_incidence(items=names, offsets=np.concatenate(([0], np.cumsum(lengths))), ids=drawn)
