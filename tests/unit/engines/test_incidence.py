"""The in-memory engine: who has what, bounded by values alone."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import Counter
from unittest.mock import patch

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushcount.engines import bounding, hashing, portions, xxh64
from hushcount.engines import incidence as incidence_module
from hushcount.engines import rows as rows_module
from hushcount.engines.incidence import encoded_incidence, incidence
from hushcount.engines.portions import hashed
from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.model.inputs import LARGEST, Bound, LengthWeights, UniformWeights
from hushcount.model.texts import Texts, edges_of, encoded, in_order
from tests.conformance.engines.xxh64 import hash_bytes, signed
from tests.plainly import plainly

ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-3, 3), st.sampled_from(["x", "-1", ""])),
        st.one_of(st.none(), st.text(max_size=2), st.sampled_from("abcdef")),
    ),
    max_size=40,
)
SALTS = st.binary(min_size=1, max_size=64)
WORDS = st.integers(-(2**63), 2**63 - 1)

# The data and salts are fixed, so these tests never flake; a fair choice would fall below this once in a million.
SMALLEST_P = 1e-6


def of(rows):
    """The incidence of (person, item) rows."""
    return incidence([person for person, _ in rows], [item for _, item in rows])


def texts(*words):
    """An array of item names."""
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array


def as_dict(histogram):
    """Item to weight or count."""
    values = histogram.counts if hasattr(histogram, "counts") else histogram.weights
    return dict(zip(histogram.items.tolist(), values.tolist(), strict=True))


def as_lists(lists):
    """Plain lists of items, people in order."""
    return [lists.items[lists.ids[a:b]].tolist() for a, b in itertools.pairwise(lists.offsets.tolist())]


def slow_hash(text, salt, role):
    """The keyed hash of a value, as documented: the text in UTF-8, after two keys made from the salt."""
    key = hashlib.blake2b(digest_size=16, key=salt, person=role).digest()
    first, second = (int.from_bytes(half, "little") for half in (key[:8], key[8:]))
    seed = hashing.hash_word(second, hashing.hash_word(first, 42))
    return signed(hash_bytes(text.encode("utf-8", "surrogatepass"), seed))


def slow_mix(person, item):
    """The hash of a pair: one hash as the seed of the other."""
    return signed(hashing.hash_word(item, hashing.hash_word(person, 42)))


def slow_bounded(rows, bound):
    """Person to kept items, in text order, in plain Python."""
    held = {}
    for person, item in rows:
        if person is not None and item is not None:
            held.setdefault(str(person), set()).add(item)
    kept = {}
    for person, items in held.items():
        allowed = [
            item
            for item in items
            if (bound.only is None or item in set(bound.only))
            and (bound.without is None or item not in set(bound.without))
        ]
        key = slow_hash(person, bound.salt, b"person")
        allowed.sort(key=lambda item: (slow_mix(key, slow_hash(item, bound.salt, b"item")), item))
        if allowed:
            kept[person] = sorted(allowed[: bound.max_items])
    return kept


@st.composite
def bounds(draw):
    """Bounds with and without named items, some of which are not in the data."""
    named = st.one_of(
        st.none(), st.lists(st.sampled_from([*"abcdefgh", ""]), max_size=6).map(lambda words: texts(*words))
    )
    return Bound(max_items=draw(st.integers(1, 6)), salt=draw(SALTS), without=draw(named), only=draw(named))


@given(ROWS, bounds(), st.sampled_from([1, 2]), st.sampled_from(["held", "bound"]), st.integers(1, 40))
def test_weights_equal_a_slow_recomputation(rows, bound, norm, share, bits):
    """Sums of floor(2^bits / share^(1/norm)) over the kept items, in integers, item for item."""
    expected = Counter()
    for items in slow_bounded(rows, bound).values():
        size = len(items) if share == "held" else bound.max_items
        for item in items:
            expected[item] += 2**bits // size if norm == 1 else math.isqrt(4**bits // size)
    got = of(rows).weights(UniformWeights(bound=bound, norm=norm, share=share, bits=bits))

    assert as_dict(got) == dict(expected)
    assert got.unit == 2**bits


@given(ROWS, bounds(), st.lists(st.integers(0, 2**40), min_size=18, max_size=18))
def test_sums_equal_a_slow_recomputation(rows, bound, numbers):
    """Each person adds the same row of weights, that of how many items they keep, to each of them."""
    columns = tuple(tuple(numbers[column::3][: bound.max_items]) for column in range(3))
    expected = {}
    for items in slow_bounded(rows, bound).values():
        for item in items:
            sums = expected.setdefault(item, [0, 0, 0])
            for column in range(3):
                sums[column] += columns[column][len(items) - 1]
    got = of(rows).sums(LengthWeights(bound=bound, columns=columns))

    assert dict(zip(got.items.tolist(), got.sums.tolist(), strict=True)) == expected
    assert got.items.tolist() == sorted(got.items.tolist())


def test_sums_that_could_wrap_and_columns_that_do_not_fit_are_refused():
    """A weight for each length, none negative, and no sum that reaches 2^62."""
    bound = Bound(max_items=2, salt=b"s")
    with pytest.raises(InvalidInput, match=r"could reach 2\^62"):
        of([("p", "a"), ("q", "a")]).sums(LengthWeights(bound=bound, columns=((2**61, 1),)))
    for columns in ((), ((1,),), ((1, 2, 3),), ((1, -1),), ((LARGEST, 1),)):
        with pytest.raises(InvalidInput):
            LengthWeights(bound=bound, columns=columns)


@given(ROWS, bounds())
def test_counts_and_lists_equal_a_slow_recomputation(rows, bound):
    """Counts and lists come from the same kept items; people stand by their hash, their items by text."""
    kept = slow_bounded(rows, bound)
    order = sorted(kept, key=lambda person: (slow_hash(person, bound.salt, b"order"), person))
    data = of(rows)
    counts = data.counts(bound)
    lists = data.lists(bound, "key")

    assert as_dict(counts) == Counter(item for items in kept.values() for item in items)
    assert counts.complete
    assert as_lists(lists) == [kept[person] for person in order]
    assert set(lists.items) == set().union(*kept.values())
    assert lists.ids.dtype == np.int32


@given(ROWS, bounds())
def test_frequency_order_is_a_persons_own(rows, bound):
    """Each list holds the same items, most rows of that person first, then by text."""
    kept = slow_bounded(rows, bound)
    times = Counter((str(person), item) for person, item in rows if person is not None and item is not None)
    order = sorted(kept, key=lambda person: (slow_hash(person, bound.salt, b"order"), person))
    expected = [sorted(kept[person], key=lambda item: (-times[person, item], item)) for person in order]

    assert as_lists(of(rows).lists(bound, "frequency")) == expected


@given(ROWS, bounds(), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(rows, bound, draw):
    """Shuffled rows give the same answers, in the same order."""
    shuffled = list(rows)
    draw.shuffle(shuffled)
    rule = UniformWeights(bound=bound, norm=2, share="held")
    one, other = of(rows), of(shuffled)

    assert one.weights(rule).items.tolist() == other.weights(rule).items.tolist()
    assert one.weights(rule).weights.tolist() == other.weights(rule).weights.tolist()
    assert as_lists(one.lists(bound, "frequency")) == as_lists(other.lists(bound, "frequency"))
    assert one.histogram(3).items.tolist() == other.histogram(3).items.tolist()


@given(ROWS, ROWS, bounds())
def test_other_people_change_nothing(rows, others, bound):
    """Errata 28 and 34: what a person keeps, and who stands before whom, does not depend on who else is there."""
    others = [(f"other {person}", item) for person, item in others]
    alone, together = of(rows).lists(bound, "key"), of([*rows, *others]).lists(bound, "key")
    mine = slow_bounded(rows, bound)
    order = sorted({**mine, **slow_bounded(others, bound)}, key=lambda p: (slow_hash(p, bound.salt, b"order"), p))
    picked = [items for person, items in zip(order, as_lists(together), strict=True) if person in mine]

    assert picked == as_lists(alone)


@given(ROWS)
def test_histogram_counts_distinct_people(rows):
    """Without a bound each person counts once for each of their items; ties stand by text."""
    pairs = {(str(person), item) for person, item in rows if person is not None and item is not None}
    expected = sorted(Counter(item for _, item in pairs).items(), key=lambda row: (-row[1], row[0]))
    data = of(rows)
    whole, top = data.histogram(), data.histogram(2)

    assert list(as_dict(whole).items()) == expected
    assert whole.complete
    assert list(as_dict(top).items()) == expected[:2]
    assert top.complete == (len(expected) <= 2)


def test_repeated_rows_are_one_pair():
    """Erratum 38: a person who says the same nine times is one person with one item."""
    data = of([("p", "a")] * 9 + [("q", "a")])
    rule = UniformWeights(bound=Bound(max_items=3, salt=b"s"), norm=1, share="held", bits=10)

    assert as_dict(data.histogram()) == {"a": 2}
    assert as_dict(data.weights(rule)) == {"a": 2 * 1024}


def test_rows_without_person_or_item_are_dropped():
    """None is nobody and nothing: no person, no item, no count."""
    data = of([(None, "a"), ("p", None), (None, None), ("q", "b")])

    assert data.whole().users.tolist() == ["q"]
    assert as_dict(data.histogram()) == {"b": 1}


def test_masked_rows_are_dropped():
    """What DuckDB masks as NULL is missing, whatever lies under the mask."""
    rows = duckdb.sql("SELECT * FROM (VALUES (1, 'a'), (NULL, 'b'), (2, NULL), (3, '')) t(u, i)").fetchnumpy()

    assert as_dict(incidence(rows["u"], rows["i"]).histogram()) == {"": 1, "a": 1}


def test_a_person_is_their_text():
    """7 and "7" are the same person, in every integer type."""
    for users in ([7, "7", np.int64(7)], np.array([7, 7, 7], np.uint8), np.array(["7", "7", "7"])):
        assert as_dict(incidence(users, ["a", "a", "b"]).histogram()) == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("users", "items"),
    [
        ([1.5], ["secret"]),
        ([float("nan")], ["secret"]),
        ([True], ["secret"]),
        ([b"secret"], ["a"]),
        ([1], [2]),
        ([1], [float("nan")]),
        ([1], [b"secret"]),
        ([1, 2], ["secret"]),
        (np.ones((2, 2), int), np.ones((2, 2), int)),
    ],
)
def test_other_types_and_shapes_are_refused_without_telling_values(users, items):
    """Floats, NaN, bytes, booleans and columns of different length are refused, and the error shows no data."""
    with pytest.raises(InvalidInput) as caught:
        incidence(users, items)

    assert "secret" not in str(caught.value)


def test_no_rows():
    """No data gives empty answers, not errors."""
    data = incidence([], [])
    bound = Bound(max_items=3, salt=b"s")

    assert as_dict(data.weights(UniformWeights(bound=bound, norm=2, share="held"))) == {}
    assert as_dict(data.counts(bound)) == {}
    assert as_lists(data.lists(bound, "frequency")) == []
    assert data.histogram().complete


def test_one_person():
    """One person with two items shares a unit between them."""
    got = of([("p", "a"), ("p", "b")]).weights(
        UniformWeights(bound=Bound(max_items=9, salt=b"s"), norm=2, share="held")
    )

    assert as_dict(got) == {"a": math.isqrt(2**59), "b": math.isqrt(2**59)}


def test_odd_texts():
    """The empty text, lone surrogates, zero bytes and a megabyte of text are items like any other."""
    odd = ["", "\ud800", "\0", "x" * 2**20, "é", "e\u0301"]
    data = of([("p", item) for item in odd])

    assert data.items.tolist() == sorted(odd)
    assert len(as_lists(data.lists(Bound(max_items=3, salt=b"s"), "key"))[0]) == 3


def test_without_acts_before_the_bound():
    """A person whose named items are left out keeps as many others as the bound allows."""
    data = of([("p", item) for item in "abcdef"])

    for salt in (bytes([n]) for n in range(20)):
        bound = Bound(max_items=2, salt=salt, without=texts("a", "b", "c", "not there"))
        assert len(data.counts(bound).items) == 2
        assert set(data.counts(bound).items) <= set("def")


def test_only_acts_before_the_bound():
    """Only the given items are kept, and the bound applies to them."""
    data = of([("p", item) for item in "abcdef"])

    assert set(data.counts(Bound(max_items=2, salt=b"s", only=texts("a", "b", "z"))).items) == {"a", "b"}
    assert set(data.counts(Bound(max_items=2, salt=b"s", only=texts("a", "b"), without=texts("b"))).items) == {"a"}
    assert len(data.counts(Bound(max_items=2, salt=b"s", only=texts())).items) == 0


def test_a_released_item_changes_nobody_elses_choice():
    """Erratum 34: leaving out an item makes room only for those who held it."""
    draw = random.Random(1)
    rows = [(person, item) for person in range(50) for item in draw.sample("abcdefghij", 6)]
    before = slow_bounded(rows, Bound(max_items=3, salt=b"s"))
    after = slow_bounded(rows, Bound(max_items=3, salt=b"s", without=texts("a")))
    lists = of(rows).lists(Bound(max_items=3, salt=b"s", without=texts("a")), "key")

    assert sorted(as_lists(lists)) == sorted(after.values())
    assert all(before[person] == after[person] for person in before if "a" not in before[person])


def test_chosen_items_are_uniform_over_salts():
    """Each pair of six items is kept equally often by one person over 3,000 salts."""
    data = of([("p", item) for item in "abcdef"])
    kept = Counter("".join(data.counts(Bound(max_items=2, salt=b"salt %d" % n)).items) for n in range(3000))

    assert len(kept) == 15
    assert stats.chisquare(list(kept.values())).pvalue > SMALLEST_P


def test_chosen_items_are_uniform_over_people():
    """Under one salt, people with the same six items choose independently: each pair is equally frequent."""
    data = of([(person, item) for person in range(6000) for item in "abcdef"])
    kept = Counter("".join(items) for items in as_lists(data.lists(Bound(max_items=2, salt=b"s"), "key")))

    assert len(kept) == 15
    assert stats.chisquare(list(kept.values())).pvalue > SMALLEST_P


def test_a_fresh_salt_chooses_afresh():
    """Erratum 34: two rounds with two salts keep different items and another order; one salt keeps the same."""
    data = of([(person, f"{person} {n}") for person in range(100) for n in range(10)])
    one, same, other = (as_lists(data.lists(Bound(max_items=5, salt=salt), "key")) for salt in (b"1", b"1", b"2"))

    assert one == same
    assert one != other
    # Of ten items, two choices of five share all of them with probability 1/252.
    assert len({tuple(items) for items in one} & {tuple(items) for items in other}) < 10


def test_order_of_people_does_not_follow_the_bound():
    """The hash that orders people is not the one that chooses their items."""
    assert slow_hash("p", b"s", b"order") != slow_hash("p", b"s", b"person")
    assert hashed(in_order(["p"]), np.array([0]), salt=b"s", role=b"order").tolist() == [slow_hash("p", b"s", b"order")]


def test_colliding_hashes_are_settled_by_text(monkeypatch):
    """If all hashes are equal, people keep their first items by text and stand by text, whatever the order of rows."""
    for module in (incidence_module, portions):
        monkeypatch.setattr(module, "hashed", lambda _, places, salt, role: np.zeros(len(places), np.int64))
    rows = [("q", "d"), ("q", "c"), ("q", "b"), ("p", "z"), ("p", "a"), ("p", "y")]

    for shuffled in (rows, rows[::-1]):
        assert as_lists(of(shuffled).lists(Bound(max_items=2, salt=b"s"), "key")) == [["a", "y"], ["b", "c"]]


@given(
    lists=st.lists(st.lists(st.sampled_from([-5, 0, 1, 2**63 - 1]), min_size=1, max_size=12), max_size=12),
    limit=st.integers(1, 5),
    cells=st.sampled_from([1, 20, 1 << 16]),
    seed=st.integers(0, 9),
)
def test_the_smallest_hashes_stay_and_ties_fall_to_the_smaller_item(lists, limit, cells, seed):
    """As sorting says, where many hashes are equal, pairs are barred, and people are taken in any groups."""
    offsets = np.concatenate(([0], np.cumsum([len(own) for own in lists]))).astype(np.int64)
    ids = np.array([n for own in lists for n, _ in enumerate(own)], dtype=np.int32)
    mixed = np.array([word for own in lists for word in own], dtype=np.int64)
    keep = np.random.default_rng(seed).random(len(ids)) < 0.8
    held = np.array([np.count_nonzero(keep[a:b]) for a, b in itertools.pairwise(offsets)], dtype=np.int64)
    wanted = smallest(offsets, keep, mixed, limit)
    equal = patch.object(bounding, "joined", equal_hashes(offsets, mixed))
    with plainly(), patch.object(bounding, "_CELLS", cells), equal:
        starts = np.arange(len(lists), dtype=np.uint64)
        hashes = (starts, np.arange(12, dtype=np.uint64))
        bounding.keep_smallest(offsets, ids, held=held, limit=limit, hashes=hashes, keep=keep)

    assert keep.tolist() == wanted


def smallest(offsets, keep, mixed, limit):
    """Which pairs stay, person by person, by sorting."""
    stays = [False] * len(keep)
    for first, last in itertools.pairwise(offsets.tolist()):
        known = [place for place in range(first, last) if keep[place]]
        for place in sorted(known, key=lambda place: (mixed[place], place))[:limit]:
            stays[place] = True
    return stays


def equal_hashes(offsets, mixed):
    """A stand-in for the hash of a pair that looks it up: person and item are told by their numbers."""

    def look_up(people, items):
        places = np.minimum(offsets[people.astype(np.int64)] + items.astype(np.int64), len(mixed) - 1)
        return mixed[places]

    return look_up


@given(WORDS, WORDS)
def test_a_pairs_hash_is_the_documented_one(person, item):
    """What is computed once for a person and once for an item comes to the chained hash of both."""
    start = xxh64.person_starts(np.array([person], np.int64))
    word = xxh64.item_words(np.array([item], np.int64))

    assert xxh64.joined(start, word).tolist() == [slow_mix(person, item)]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("bits", [1, 30, 61])
def test_one_persons_norm_never_passes_the_unit(norm, bits):
    """For d items, d times the step to the norm is at most the unit to the norm; one step more is not."""
    for held in [1, 2, 3, 5, 7, 10, 99, 100, 101, 2**20, 2**30 + 1]:
        step = incidence_module._step(1 << bits, held, norm)  # noqa: SLF001

        assert held * step**norm <= (1 << bits) ** norm < held * (step + 1) ** norm


def test_weights_that_could_pass_2_to_the_62_are_refused():
    """Two people on a grid of 2^61 could reach 2^62, where noise would wrap; one could not."""
    bound = Bound(max_items=3, salt=b"s")

    with pytest.raises(InvalidInput, match="2\\^62"):
        of([("p", "a"), ("q", "a")]).weights(UniformWeights(bound=bound, norm=1, share="held", bits=61))

    alone = of([("p", "a")]).weights(UniformWeights(bound=bound, norm=1, share="held", bits=61))
    assert alone.weights.tolist() == [LARGEST // 2]


def test_items_whose_weight_rounds_to_zero_are_listed():
    """Erratum 25: which items are listed does not depend on their weight."""
    got = of([("p", item) for item in "abcdef"]).weights(
        UniformWeights(bound=Bound(max_items=6, salt=b"s"), norm=1, share="held", bits=1)
    )

    assert as_dict(got) == dict.fromkeys("abcdef", 0)


@pytest.mark.parametrize(
    "bound",
    [
        Bound(max_items=0, salt=b"s"),
        Bound(max_items=2**63, salt=b"s"),
        Bound(max_items=1, salt=b""),
        Bound(max_items=1, salt=b"s" * 65),
        Bound(max_items=1, salt="secret"),
    ],
)
def test_bad_bounds_are_refused(bound):
    """A bound below one and a salt that is no key are refused, and the salt is not shown."""
    with pytest.raises(InvalidParameter) as caught:
        of([("p", "a")]).counts(bound)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"norm": 3}, "norm"),
        ({"share": "all"}, "share"),
        ({"bits": 0}, "bits"),
        ({"bits": 62}, "bits"),
        ({"bits": 1.5}, "bits"),
    ],
)
def test_bad_weights_are_refused(changed, name):
    """Norms other than 1 and 2, unknown shares and grids that cannot be are refused."""
    rule = UniformWeights(**{"bound": Bound(max_items=1, salt=b"s"), "norm": 1, "share": "held", **changed})

    with pytest.raises(InvalidParameter, match=name):
        of([("p", "a")]).weights(rule)


def test_bad_orders_and_tops_are_refused():
    """An order nobody defined and a top of none are refused."""
    data = of([("p", "a")])

    with pytest.raises(InvalidParameter, match="order"):
        data.lists(Bound(max_items=1, salt=b"s"), "arrival")
    with pytest.raises(InvalidParameter, match="top"):
        data.histogram(0)


@given(ROWS, bounds())
def test_encoded_rows_are_the_same_data(rows, bound):
    """Codes in any order and lists with repeats give what the columns they stand for give."""
    known = [(str(person), item) for person, item in rows if person is not None and item is not None]
    people = sorted({person for person, _ in known}, reverse=True)
    words = sorted({item for _, item in known}, reverse=True)
    held = [[words.index(item) for person, item in known if person == mine] for mine in people]
    offsets = np.cumsum([0, *map(len, held)], dtype=np.int64)
    ids = np.array([code for codes in held for code in codes], dtype=np.int32)
    made = encoded_incidence(items=texts(*words), offsets=offsets, ids=ids, users=people)

    assert as_lists(made.lists(bound, "frequency")) == as_lists(of(known).lists(bound, "frequency"))
    assert as_dict(made.histogram()) == as_dict(of(known).histogram())


def test_encoded_people_are_named_by_position():
    """Without names, the person at position j is "j"."""
    made = encoded_incidence(items=texts("a", "b"), offsets=np.array([0, 1, 3]), ids=np.array([1, 0, 1]))

    assert made.whole().users.tolist() == ["0", "1"]
    assert as_dict(made.histogram()) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("items", "offsets", "ids", "users"),
    [
        (["a"], [], [], None),
        (["a"], [1, 1], [0], None),
        (["a"], [0, 2], [0], None),
        (["a"], [0, 2, 1, 2], [0, 0], None),
        (["a"], [0, 1], [1], None),
        (["a"], [0, 1], [-1], None),
        (["a", "a"], [0, 1], [1], None),
        (["a", None], [0, 1], [0], None),
        (["a"], [0, 1, 1], [0], ["p", "p"]),
        (["a"], [0, 1], [0], ["p", "q"]),
    ],
)
def test_encoded_rows_that_contradict_themselves_are_refused(items, offsets, ids, users):
    """Offsets, codes and names must fit together."""
    with pytest.raises(InvalidInput):
        encoded_incidence(items=texts(*items), offsets=np.array(offsets, int), ids=np.array(ids, int), users=users)


@given(rows=ROWS, bound=bounds())
def test_two_halves_and_small_pieces_give_what_one_pass_gives(rows, bound):
    """Counting people in two halves on two cores, a few pairs at a time, changes no weight, sum, count or list."""
    handle = incidence([person for person, _ in rows], [item for _, item in rows])
    whole = everything(handle, bound)
    with patch.object(portions, "MANY_ROWS", 0), patch.object(rows_module, "_PAIRS", 3):
        parts = everything(handle, bound)

    assert parts == whole


def everything(handle, bound):
    """All bounded inputs of an incidence under a bound, as plain values."""
    weights = handle.weights(UniformWeights(bound=bound, norm=2, share="held"))
    sums = handle.sums(LengthWeights(bound=bound, columns=(tuple(range(1, 1 + bound.max_items)),) * 2))
    return (
        weights.items.tolist(),
        weights.weights.tolist(),
        sums.items.tolist(),
        sums.sums.tolist(),
        handle.counts(bound).counts.tolist(),
        as_lists(handle.lists(bound, "key")),
        as_lists(handle.lists(bound, "frequency")),
    )


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), SALTS)
def test_whole_numbers_hash_as_their_text(values, salt):
    """A whole number and its decimal text have the same hash, to the ends of the range."""
    numbers = np.array(values, dtype=np.int64)
    buffer, lengths = encoded([str(value) for value in values])
    every = np.arange(len(values))

    of_numbers = hashed(numbers, every, salt=salt, role=b"person")
    assert of_numbers.tolist() == hashed(Texts(buffer, edges_of(lengths)), every, salt=salt, role=b"person").tolist()
