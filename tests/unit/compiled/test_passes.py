"""Machine code and its plain twins give the same integers, and code compiled in a wrong way is told apart."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.compiled import lists as compiled_lists
from hushcount.compiled import passes
from hushcount.compiled.segments import Segments
from hushcount.engines import bounding, clipping, pairs, xxh64
from hushcount.mechanisms.ladders.steps import Allowance, grid, staircase
from hushcount.mechanisms.ladders.tables import climbed
from hushcount.mechanisms.weighting import kernels
from hushcount.noise import siphash, steepest
from tests.architecture.sources import ROOT
from tests.plainly import plainly
from tests.unit.weighting.made_lists import encode

if shutil.which("cc") is None:
    pytest.skip("no C compiler here, so there is no machine code to test", allow_module_level=True)

ITEMS = 12
LISTS = st.lists(st.lists(st.integers(0, ITEMS - 1), unique=True, min_size=1, max_size=ITEMS), max_size=12)
WORDS = st.integers(0, 2**64 - 1)
# Few, so that many pairs have equal hashes.
ALIKE = st.sampled_from([0, 1, 2**63])
KERNELS = (kernels.fill_evenly, kernels.fill_in_turn, kernels.step_straight)


def rows(lists):
    """Compressed rows of some lists."""
    offsets = np.concatenate(([0], np.cumsum([len(own) for own in lists]))).astype(np.int64)
    return offsets, np.array([item for own in lists for item in sorted(own)], dtype=np.int32)


def both(function):
    """What a function gives with machine code, and without."""
    with_code = function()
    with plainly():
        return with_code, function()


def same(function):
    """Whether the two agree to the last bit, types included."""
    found, plain = both(function)
    pairs = zip(found, plain, strict=True) if isinstance(found, tuple) else [(found, plain)]
    return all(one.dtype == other.dtype and one.tolist() == other.tolist() for one, other in pairs)


def sizes(cores):
    """From how many pairs on two cores work, and how large a table each of them may have."""
    return {"MANY_ROWS": 10**6 if cores == "one" else 0, "_SUMS_OF_A_PAIR": 10**6 if cores == "two" else 0}


def test_it_was_compiled():
    """Where there is a compiler there is machine code: no test below compares one way with itself."""
    assert passes.library() is not None


@given(
    lists=LISTS,
    amplitudes=st.lists(st.integers(0, 2**25), min_size=ITEMS, max_size=ITEMS),
    ends=st.lists(st.integers(1, ITEMS), min_size=1, max_size=4, unique=True),
    radii=st.lists(st.integers(1, 2**27), min_size=4, max_size=12),
    unit=st.integers(1, 2**40),
    grain=st.integers(0, 2**20),
)
def test_losses(lists, amplitudes, ends, radii, unit, grain):
    """Of any clips in any order, those of fewer items the tighter or not, of lists of any length, on any grid."""
    clips = [(number % len(ends), radius) for number, radius in enumerate(radii)][::-1]
    of_item = np.searchsorted(sorted(ends), np.arange(ITEMS), side="right")
    tables = Segments(
        squares=np.where(of_item < len(ends), np.array(amplitudes, dtype=np.int64) ** 2, 0),
        of_item=np.where(of_item < len(ends), of_item, 0),
        of_clip=np.array([segment for segment, _ in clips]),
        limits=np.array([radius**2 for _, radius in clips], dtype=np.int64),
        grain=grain,
        unit=unit,
    )

    assert same(lambda: clipping.losses(*rows(lists), tables))


@given(
    lists=LISTS,
    amplitudes=st.lists(st.integers(0, 2**25), min_size=ITEMS, max_size=ITEMS),
    radius=st.integers(1, 2**27),
)
def test_clipped_sums(lists, amplitudes, radius):
    """Whether a person is clipped or not, and wherever a product falls."""
    offsets, ids = rows(lists)

    assert same(lambda: clipping.clipped(offsets, ids, np.array(amplitudes, dtype=np.int64), radius=radius))
    assert same(lambda: clipping.clipped(offsets, ids.astype(np.int64), np.array(amplitudes), radius=radius))


@given(
    lists=LISTS,
    barred=st.sets(st.integers(0, ITEMS - 1)),
    limit=st.integers(1, ITEMS),
    hashes=st.tuples(
        st.lists(ALIKE | WORDS, min_size=12, max_size=12), st.lists(ALIKE | WORDS, min_size=ITEMS, max_size=ITEMS)
    ),
    weights=st.lists(st.tuples(st.integers(0, 2**50), st.integers(0, 9)), min_size=ITEMS + 1, max_size=ITEMS + 1),
    cores=st.sampled_from(["one", "two", "one table"]),
)
def test_bounded_lists(lists, barred, limit, hashes, weights, cores):
    """Which pairs stay, equal hashes included, how many each has, and what they add up to, on one core and on two."""
    offsets, ids = rows(lists)
    allowed = np.array([item not in barred for item in range(ITEMS)])
    people = np.array(hashes[0], dtype=np.uint64)[: len(lists)]
    things = np.array(hashes[1], dtype=np.uint64)

    def bounded():
        keep = np.ones(len(ids), dtype=np.bool_)
        held = bounding.keep_allowed(offsets, ids, allowed=allowed, keep=keep)
        bounding.keep_smallest(offsets, ids, held=held, limit=limit, hashes=(people, things), keep=keep)
        left = np.minimum(held, limit)
        total, seen = bounding.add_rows(
            offsets, ids, keep=keep, held=left, weights=np.array(weights, dtype=np.int64), n_items=ITEMS
        )
        return keep, held, total, seen

    with patch.multiple(passes, **sizes(cores)):
        assert same(bounded)


@given(
    lists=LISTS,
    who=st.lists(st.integers(0, 11), max_size=6),
    columns=st.integers(1, 3),
    wanted=st.sets(st.integers(0, 11)),
)
def test_chosen_items_ids_and_rows(lists, who, columns, wanted):
    """Items of some people, ids by other numbers, and rows of sums that are moved together."""
    offsets, ids = rows(lists)
    people = np.array([one for one in who if one < len(lists)], dtype=np.int64)
    listed = np.array([item in wanted for item in range(ITEMS)])
    total = np.arange(ITEMS * columns).reshape(ITEMS, columns)

    def numbered():
        keep = listed[ids]
        kept = np.empty(np.count_nonzero(keep), dtype=np.int32)
        bounding.keep_ids(ids, keep, np.arange(ITEMS, dtype=np.int32)[::-1].copy(), kept=kept)
        return kept

    assert same(lambda: bounding.items_of(offsets, ids, people=people, n_items=ITEMS))
    assert same(numbered)
    assert passes.keep_rows(total.copy(), listed).tolist() == total[listed].tolist()


def test_a_part_of_the_people():
    """Two threads take two halves: offsets need not begin at zero, and nothing outside is touched."""
    offsets, ids = rows([[1, 2], [0, 2, 3], [4]])
    keep = np.ones(len(ids), dtype=np.bool_)
    held = bounding.keep_allowed(offsets[1:], ids, allowed=np.zeros(ITEMS, dtype=np.bool_), keep=keep)

    assert held.tolist() == [0, 0]
    assert keep.tolist() == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("rho", "delta", "weights"),
    [(0.3, 1e-3, [1]), (0.1, 1e-5, [40, 20, 11]), (0.1, 1e-5, [7, 7, 6, 90]), (1e-6, 0.1, [1])],
)
def test_tables_of_chances(rho, delta, weights):
    """Of one weight and of several, in any order, and of a table that is cut off before it is certain."""
    allowances = [Allowance(rho=rho / (n + 1), delta=delta, cap=16.0) for n in range(len(weights))]
    places = grid(delta)
    bounds = staircase(allowances, places)

    assert same(lambda: climbed(np.array(weights), bounds, places))


def test_tangents_of_the_steepest_curve():
    """At every knot that has one, to the last bit."""
    assert same(lambda: steepest.tangents(40 * 1024))


@given(lists=LISTS, cutoff=st.integers(1, 2**52), budget=st.integers(1, 2**47), kernel=st.sampled_from(KERNELS))
def test_sequential_weightings(lists, cutoff, budget, kernel):
    """For cutoffs and budgets up to the finest grids."""
    assert same(lambda: kernels.weigh(kernel, encode(lists), cutoff=cutoff, budget=budget))


@given(
    rows=st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 6)), max_size=40), width=st.sampled_from([1, 7, 8])
)
def test_encoded_pairs(rows, width):
    """With repeats and without, of one item and of many, and of nobody."""
    keys = np.sort(np.array([(one << pairs.item_bits(width)) + item % width for one, item in rows], dtype=np.int64))

    assert same(lambda: pairs.split_keys(keys, width=width))


@given(
    batches=st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, ITEMS - 1)), max_size=99), max_size=4),
    places=st.permutations(range(ITEMS)),
    many=st.booleans(),
    first=st.sampled_from([0, 7, 2**31 - 12]),
)
def test_lists_of_rows(batches, places, many, first):
    """Rows in any order, in any batches, on one core and on two: the lists that Python makes of them."""
    held = Counter((one, places[item]) for batch in batches for one, item in batch)

    def lists():
        keys = [np.array([(one + first << 32) + item for one, item in batch], dtype=np.int64) for batch in batches]
        return pairs.split_rows(keys, np.array(places, dtype=np.int32), numbers=range(first, first + 12))

    with patch.object(compiled_lists, "MANY_ROWS", 0 if many else 10**6):
        assert same(lists)
        people, offsets, ids, times = lists()
    listed = np.repeat(people, np.diff(offsets)).tolist(), ids.tolist(), times.tolist()
    assert list(zip(*listed, strict=True)) == [(*pair, held[pair]) for pair in sorted(held)]


@given(
    first=st.sampled_from([-(2**63), -(2**31), -3, 0, 5, 2**31 - 1, 2**63 - 1]),
    steps=st.lists(st.integers(-(2**30), 2**30 - 1) | st.integers(-40, 40), max_size=20),
    far=st.sampled_from([None, -(2**30) - 1, 2**30, 2**33, -(2**63)]),
    cut=st.integers(0, 20),
)
def test_rows_of_people_who_are_close(first, steps, far, cut):
    """Each row becomes one integer, of which everybody comes back, also around the ends of what an integer can be."""
    people = np.array([first, *(first + step for step in [*steps, *([] if far is None else [far])])], dtype=object)
    people = ((people + 2**63) % 2**64 - 2**63).astype(np.int64)
    if people.min() >= -(2**31) and people.max() < 2**31:
        people = people.astype(np.int32)
    items, keys = np.arange(len(people), dtype=np.int32)[::-1].copy(), np.empty(len(people), dtype=np.int64)
    close = compiled_lists.ClosePeople()
    parts = slice(0, cut), slice(cut, len(people))
    found = [close.join(people[part], items[part], keys=keys[part]) for part in parts]

    assert all(found) == (far is None)
    if far is None:
        numbers = keys >> 32
        assert (numbers + np.int64(close.origin)).tolist() == people.tolist()
        assert (keys & (2**32 - 1)).tolist() == items.tolist()
        assert close.numbers == range(int(numbers.min()), int(numbers.max()) + 1)


def test_nobody_is_close():
    """Of no rows there are no numbers."""
    close = compiled_lists.ClosePeople()

    assert close.join(np.zeros(0, np.int64), np.zeros(0, np.int32), keys=np.zeros(0, np.int64))
    assert len(close.numbers) == 0


@pytest.mark.parametrize("shape", ["ascending", "descending", "alike", "smallest", "two", "any"])
def test_a_long_list(shape):
    """Of one person, longer than what is sorted by insertion, whatever its order."""
    made = {"ascending": range(5000), "descending": range(5000)[::-1], "alike": [7] * 5000}
    made |= {"smallest": [0] * 5000, "two": [0, 4999] * 2500}
    items = np.array(made.get(shape, np.random.default_rng(3).integers(0, 5000, 5000)), dtype=np.int64)
    _, offsets, ids, times = pairs.split_rows([items], np.arange(5000, dtype=np.int32), numbers=range(1))
    distinct, often = np.unique(items, return_counts=True)

    assert (offsets.tolist(), ids.tolist(), times.tolist()) == ([0, len(ids)], distinct.tolist(), often.tolist())


def test_people_whose_numbers_are_far_apart_need_no_table():
    """Rows are sorted instead: a table of all numbers would not fit into memory."""
    keys = [np.array([(2**31 - 2 << 32) + 1, 0, 2**31 - 2 << 32], dtype=np.int64)]
    with patch.object(compiled_lists, "split_rows", side_effect=MemoryError):
        people, offsets, ids, _ = pairs.split_rows(keys, np.array([1, 0], dtype=np.int32), numbers=range(2**31))

    assert (people.tolist(), offsets.tolist(), ids.tolist()) == ([0, 2**31 - 2], [0, 1, 3], [1, 0, 1])


@given(
    pairs_of=st.lists(st.tuples(st.integers(0, ITEMS - 1), st.integers(1, 6)), min_size=1, max_size=40),
    cap=st.integers(1, 4),
    cores=st.sampled_from(["one", "two", "one table"]),
)
def test_counted_pairs(pairs_of, cap, cores):
    """Up to a cap, on one core and on two, whether times are listed or one number stands for all."""
    ids, times = (np.array(column) for column in zip(*pairs_of, strict=True))
    with patch.multiple(passes, **sizes(cores)):
        assert same(lambda: pairs.count_pairs(ids.astype(np.int32), times, cap=cap, width=ITEMS))
        assert same(lambda: pairs.count_pairs(ids.astype(np.int32), passes.once(len(ids)), cap=cap, width=ITEMS))


@given(
    texts=st.lists(st.binary(max_size=80), max_size=20),
    seed=WORDS,
    key=st.binary(min_size=16, max_size=16),
    many=st.booleans(),
)
def test_keyed_hashes(texts, seed, key, many):
    """Of texts of every length up to several stripes, one behind the other, on one core and on two."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    buffer = np.frombuffer(b"".join(texts), dtype=np.uint8)

    assert same(lambda: xxh64.hash_texts(buffer, np.cumsum(lengths) - lengths, lengths, seed=seed))
    with patch.object(passes, "_MANY_TEXTS", 1 if many else 10**6):
        assert same(lambda: siphash.digest_slices(key, buffer, lengths))


@given(
    key=st.binary(min_size=16, max_size=16),
    blocks=st.lists(st.tuples(WORDS, WORDS), max_size=20),
    counter=st.integers(0, 2**56 - 1),
)
def test_words_of_draws(key, blocks, counter):
    """For any number of items, in lanes of vectors and what is left of them, whose digests may be a part of more."""
    digests = np.array(blocks, dtype=np.uint64).reshape(-1, 2).T

    assert same(lambda: siphash.words(key, digests, counter))
    assert same(lambda: siphash.words(key, digests[:, ::2], counter))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_long_lists_of_many_people(kernel):
    """On skewed lists whose items fill up: where an order of additions or a contracted product would show."""
    chance = np.random.default_rng(5)
    lists = encode([sorted(set(chance.zipf(1.3, 60).clip(max=400).tolist())) for _ in range(800)])
    compiled, plain = both(lambda: kernels.weigh(kernel, lists, cutoff=2**50 // 3, budget=2**46 + 12345))

    assert compiled.tolist() == plain.tolist()
    assert 0 < np.count_nonzero(compiled == 2**50 // 3) < len(compiled)


def build_hook():
    """The program that compiles it."""
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


# What -ffast-math says of sums; that itself would change how this whole process rounds as soon as it is loaded.
REORDERED = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")


def test_code_compiled_with_fast_math_is_told_apart(tmp_path):
    """Broken twin: where sums may be reordered, Kahan's correction is optimised away and integers differ."""
    chance = np.random.default_rng(5)
    lists = encode([sorted(set(chance.zipf(1.3, 300).clip(max=4000).tolist())) for _ in range(400)])
    made = build_hook().compiled(passes.LIBRARY.parent, tmp_path / "twin.so", *REORDERED)
    plain = kernels.weigh_plainly(kernels.step_straight, lists, (2**52 - 1, 2**46 + 12345))
    with patch.object(passes, "library", lambda: ctypes.CDLL(str(tmp_path / "twin.so"))):
        twin = kernels.weigh(kernels.step_straight, lists, cutoff=2**52 - 1, budget=2**46 + 12345)

    assert made
    assert plain.tolist() != twin.tolist()


def test_without_a_compiler_there_is_no_machine_code(tmp_path, monkeypatch):
    """The build goes on without, and what an older build left is removed."""
    (tmp_path / "old.so").write_bytes(b"of another machine")
    monkeypatch.setenv("CC", "no-such-compiler")

    assert not build_hook().compiled(passes.LIBRARY.parent, tmp_path / "old.so")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, b"of another machine"], ids=["missing", "broken"])
def test_a_library_that_cannot_be_loaded_is_done_without(tmp_path, content):
    """In an install without machine code, or with that of another machine, questions are answered."""
    place = tmp_path / "libpasses.so"
    if content is not None:
        place.write_bytes(content)
    words = (
        "import pathlib, sys; from hushcount.compiled import passes; passes.LIBRARY = pathlib.Path(sys.argv[1])\n"
        "from hushcount.mechanisms.weighting import kernels; from tests.unit.weighting.made_lists import encode\n"
        "lists = encode([[1, 2], [2, 3]])\n"
        "print(kernels.is_compiled(), kernels.weigh(kernels.fill_in_turn, lists, cutoff=9, budget=4))"
    )
    run = subprocess.run(  # noqa: S603 (our own words)
        [sys.executable, "-c", words, str(place)], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert run.stdout.strip() == "False [4 4 0]"


def test_an_array_that_cannot_be_written_is_refused():
    """C would write to a copy, and nothing would be heard of it."""
    offsets, ids = rows([[1, 2]])
    keep = np.ones(4, dtype=np.bool_)[::2]

    with pytest.raises(ValueError, match="contiguous"):
        passes.keep_allowed((offsets, ids), allowed=np.ones(ITEMS, dtype=np.bool_), keep=keep)
