"""Noise sources: what a draw is a function of, and what it must not be a function of (errata 9 and 37)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hushcount.errors import InvalidInput, InvalidParameter
from hushcount.noise.laplace import discrete_laplace
from hushcount.noise.source import JoinedDraws, KeyedSource, NoiseContext, SeededSource, SystemSource, new_secret
from tests.unit.noise import slow

SECRET = bytes(range(32))
CONTEXT = NoiseContext(query="top countries", data_version="2024-05-01", mechanism="known-laplace", mechanism_version=1)
TEXTS = ["apple", "", "apple\0", "Äpfel", "🙂", "漢字", "a" * 1000, "\ud800", "berry"]


def items(*texts: str) -> np.ndarray:
    """Texts as the library takes them."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def keyed(**changes: object) -> KeyedSource:
    """A keyed source for the usual context, with some of it changed."""
    return KeyedSource(SECRET, replace(CONTEXT, **changes))


def words(source, texts, purpose="count", counter=0) -> list[int]:
    """Word number `counter` of each text."""
    return source.item_draws(purpose, source.identify(items(*texts))).words(counter).tolist()


SOURCES = {"system": SystemSource(), "keyed": keyed(), "seeded": SeededSource(7)}
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


@each_source
def test_order_of_rows_changes_no_draw(source):
    """An item's words are the same wherever it stands (erratum 9: noise belongs to the item, not to its place)."""
    forwards, backwards = words(source, TEXTS), words(source, TEXTS[::-1])

    assert forwards == backwards[::-1]
    assert len(set(forwards)) == len(TEXTS)


@each_source
def test_neighbours_change_no_draw(source):
    """An item's words are the same alone, beside others, and beside many others."""
    crowd = [f"other {i}" for i in range(20_000)]
    together = words(source, [*crowd, *TEXTS], counter=3)[len(crowd) :]

    assert together == [words(source, [text], counter=3)[0] for text in TEXTS]


@given(texts=st.lists(st.text(max_size=20), unique=True, min_size=1), data=st.data())
def test_any_part_in_any_order_draws_the_same(texts, data):
    """However the items are split and shuffled, each item's words stay."""
    source = SOURCES["keyed"]
    part = data.draw(st.lists(st.sampled_from(texts), unique=True))
    whole = dict(zip(texts, words(source, texts), strict=True))

    assert words(source, part) == [whole[text] for text in part]


@each_source
def test_purposes_and_counters_give_other_words(source):
    """Two purposes, or two counters, share no word, and an item's draws share none with the stream's."""
    seen = [
        *words(source, TEXTS, "count"),
        *words(source, TEXTS, "counts"),
        *words(source, TEXTS, ""),
        *words(source, TEXTS, "count", 1),
        *words(source, TEXTS, "count", 1 << 32),
        *source.draws("count", len(TEXTS)).words(0).tolist(),
        *source.draws("counts", len(TEXTS)).words(0).tolist(),
        *source.draws("count", len(TEXTS)).words(1).tolist(),
    ]

    assert len(set(seen)) == len(seen) == 8 * len(TEXTS)


@each_source
def test_salts_differ_by_purpose(source):
    """A salt has sixteen bytes, is the same for the same purpose, and another for another."""
    assert len(source.salt("one")) == 16
    assert source.salt("one") == source.salt("one")
    assert source.salt("one") != source.salt("two")


def test_system_sources_differ():
    """Every system source has a key of its own."""
    one, two = SystemSource(), SystemSource()

    assert words(one, TEXTS) != words(two, TEXTS)
    assert one.draws("x", 3).words(0).tolist() != two.draws("x", 3).words(0).tolist()
    assert one.salt("x") != two.salt("x")


def test_new_secrets_are_long_enough_and_differ():
    """A fresh secret is one that `KeyedSource` takes, and no two are alike."""
    one, two = new_secret(), new_secret()

    assert one != two
    assert KeyedSource(one, CONTEXT).salt("x") != KeyedSource(two, CONTEXT).salt("x")


def everything(source) -> tuple[object, ...]:
    """All that can be had from a source, for a few items."""
    digests = source.identify(items(*TEXTS)).digests.tolist()
    return words(source, TEXTS), source.draws("x", 4).words(0).tolist(), source.salt("x"), digests


def test_equal_context_gives_equal_noise():
    """The same secret and the same context draw the same, in another source object."""
    assert everything(keyed()) == everything(KeyedSource(bytes(SECRET), replace(CONTEXT)))


@pytest.mark.parametrize(
    "change",
    [
        {"query": "top countries "},
        {"data_version": "2024-05-02"},
        {"mechanism": "known-laplace2"},
        {"mechanism_version": 2},
        {"mechanism_version": 11},
    ],
    ids=str,
)
def test_one_changed_part_changes_all_noise(change):
    """If any one part of the context changes, every draw, digest and salt changes (erratum 9)."""
    pairs = list(zip(everything(keyed()), everything(keyed(**change)), strict=True))

    assert all(one != two for one, two in pairs)
    assert not set(pairs[0][0]) & set(pairs[0][1])


@pytest.mark.parametrize("secret", [bytes(32), SECRET + b"\1", SECRET[::-1], bytes(range(100))], ids=len)
def test_another_secret_changes_all_noise(secret):
    """If the secret changes, every draw, digest and salt changes."""
    pairs = zip(everything(keyed()), everything(KeyedSource(secret, CONTEXT)), strict=True)

    assert all(one != two for one, two in pairs)


@pytest.mark.parametrize("name", ["query", "data_version", "mechanism"])
def test_empty_context_is_refused(name):
    """A context with an empty part is refused, and the error names the part."""
    with pytest.raises(InvalidParameter) as caught:
        replace(CONTEXT, **{name: ""})

    assert caught.value.name == name


@pytest.mark.parametrize("secret", [b"", b"password", bytes(31)])
def test_short_secrets_are_refused(secret):
    """A secret that could be guessed is refused, and the error does not repeat it."""
    with pytest.raises(InvalidParameter) as caught:
        KeyedSource(secret, CONTEXT)

    assert caught.value.name == "secret"
    assert caught.value.value == f"{len(secret)} bytes"


def contexts() -> st.SearchStrategy[tuple[str, str, str, int]]:
    """Any four parts that a context may have, short ones more often, so that they nearly collide."""
    part = st.text(alphabet="ab\0", min_size=1, max_size=4) | st.text(min_size=1, max_size=10)
    return st.tuples(part, part, part, st.integers(0, 120))


@given(one=contexts(), two=contexts())
@example(one=("a", "bc", "m", 1), two=("ab", "c", "m", 1))
@example(one=("a", "b", "m1", 1), two=("a", "b", "m", 11))
@example(one=("a\0b", "c", "m", 1), two=("a", "b\0c", "m", 1))
def test_different_contexts_never_share_noise(one, two):
    """The framing of a context is injective: moving a letter from one part to the next changes the noise."""
    assume(one != two)
    names = ("query", "data_version", "mechanism", "mechanism_version")
    salts = {keyed(**dict(zip(names, parts, strict=True))).salt("x") for parts in (one, two)}

    assert len(salts) == 2


@given(text=st.text(min_size=2, max_size=8), data=st.data())
def test_only_the_framing_keeps_splits_apart(text, data):
    """Broken twin: joined without lengths, two splits of one text give one key; with lengths they give two."""
    one, two = data.draw(st.lists(st.integers(1, len(text) - 1), min_size=2, max_size=2))
    assume(one != two)
    splits = [(text[:at], text[at:]) for at in (one, two)]
    ours = {keyed(query=first, data_version=second).salt("x") for first, second in splits}
    twins = {hashlib.sha256("".join(split).encode("utf-8", "surrogatepass")).digest() for split in splits}

    assert len(twins) == 1
    assert len(ours) == 2


def test_only_a_seed_is_stamped():
    """A seed that anybody can repeat is not private; the system's key and a secret are (erratum 37)."""
    assert SeededSource(1).private is False
    assert SystemSource().private is True
    assert keyed().private is True


def test_a_seed_repeats_and_so_takes_its_noise_away():
    """Erratum 37: whoever knows the seed subtracts the noise and reads the counts; the system's key withstands that."""
    counts, names = np.arange(100, 109), items(*TEXTS)

    def release(source) -> np.ndarray:
        draws = source.item_draws("count", source.identify(names))
        return counts + discrete_laplace(draws, Fraction(1, 50))

    def attack(source, released) -> np.ndarray:
        return released - discrete_laplace(source.item_draws("count", source.identify(names)), Fraction(1, 50))

    assert (attack(SeededSource(42), release(SeededSource(42))) == counts).all()
    assert (attack(SystemSource(), release(SystemSource())) != counts).any()


class WithoutVersion(KeyedSource):
    """Broken twin: LI's seed of query and date, which forgets that the data behind them can change."""

    def __init__(self, secret: bytes, context: NoiseContext) -> None:
        super().__init__(secret, replace(context, data_version="forgotten"))


@pytest.mark.parametrize(("kind", "leaks"), [(WithoutVersion, True), (KeyedSource, False)])
def test_equal_noise_on_two_snapshots_shows_the_change(kind, leaks):
    """Erratum 9: without the data version the difference of two answers is the exact change; with it, it is not."""
    names = items(*(f"item {i}" for i in range(200)))
    change = np.arange(200) % 3
    released = []
    for version, counts in (("monday", np.full(200, 1000)), ("tuesday", 1000 + change)):
        source = kind(SECRET, replace(CONTEXT, data_version=version))
        noise = discrete_laplace(source.item_draws("count", source.identify(names)), Fraction(1, 10))
        released.append(counts + noise)
    guessed = released[1] - released[0] == change

    assert guessed.all() == leaks
    assert guessed.mean() == 1 if leaks else guessed.mean() < 0.2


def master(seed: int) -> bytes:
    """The key of a seeded source, computed apart."""
    return hashlib.sha256(slow.framed("hushcount test seed", str(seed))).digest()


@pytest.mark.parametrize("counter", [0, 1, 258, (3 << 32) + 2])
def test_stream_words_are_chacha20(counter):
    """Word `counter` of row r is bytes 8r to 8r+7 of the ChaCha20 stream whose nonce is the counter."""
    key = slow.derive(master(5), "stream", "bottom")
    nonce = counter.to_bytes(8, "little")
    stream = b"".join(slow.chacha20(key, block, bytes(4) + nonce) for block in range(4))
    theirs = Cipher(algorithms.ChaCha20(key, bytes(8) + nonce), mode=None).encryptor().update(bytes(240))

    assert stream[:240] == theirs
    assert SeededSource(5).draws("bottom", 30).words(counter).tolist() == np.frombuffer(theirs, dtype="<u8").tolist()


def test_slow_chacha20_gives_the_rfc_vector():
    """RFC 8439, section 2.3.2: the block function's test vector."""
    block = slow.chacha20(bytes(range(32)), 1, bytes.fromhex("000000090000004a00000000"))

    assert block.hex().startswith("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e")


def test_item_words_are_siphash_of_a_keyed_digest():
    """An item's word is SipHash-2-4 under the purpose's key of its 128-bit digest and the counter."""
    digest_key = slow.derive(master(5), "digest", "")[:16]
    key = slow.derive(master(5), "items", "count")[:16]
    expected = []
    for text in TEXTS:
        digest = slow.siphash(digest_key, text.encode("utf-8", "surrogatepass"), wide=True)
        message = digest + (9).to_bytes(7, "little")
        expected.append(int.from_bytes(slow.siphash(key, message, wide=False), "little"))

    assert words(SeededSource(5), TEXTS, "count", 9) == expected


def test_a_keyed_master_is_hmac_of_the_context():
    """Answers stay the same over versions of the library: the derivation is written down here once more."""
    parts = (CONTEXT.query, CONTEXT.data_version, CONTEXT.mechanism, str(CONTEXT.mechanism_version))
    root = hmac.new(
        hashlib.sha256(SECRET).digest(), slow.framed("hushcount release 1", *parts), hashlib.sha256
    ).digest()

    assert keyed().salt("x") == slow.derive(root, "salt", "x")[:16]


def views() -> dict[str, object]:
    """Draws of every kind, ten rows each."""
    source = SeededSource(3)
    keys = source.identify(items(*(f"item {i}" for i in range(10))))
    return {
        "items": source.item_draws("p", keys),
        "stream": source.draws("p", 10),
        "joined": JoinedDraws(source.item_draws("p", keys.at(np.arange(7))), source.draws("p", 3)),
        "part of items": source.item_draws("p", source.identify(items(*map(str, range(30))))).at(np.arange(5, 25, 2)),
        "part of stream": source.draws("p", 30).at(np.arange(5, 25, 2)),
        "part of part": source.draws("p", 90).at(np.arange(0, 90, 3)).at(np.arange(10, 20)),
    }


@pytest.mark.parametrize("kind", views())
def test_word_words_and_at_agree(kind):
    """One word of one row, a column of words and a part of the rows are views of the same table."""
    draws = views()[kind]
    rows = np.array([0, 3, 6, 7, 9])

    assert len(draws) == 10
    for counter in (0, 5, (2 << 32) + 1):
        column = draws.words(counter).tolist()

        assert len(set(column)) == 10
        assert column == [draws.word(row, counter) for row in range(10)]
        assert draws.at(rows).words(counter).tolist() == [column[row] for row in rows]
        assert [draws.at(rows).word(place, counter) for place in range(5)] == [column[row] for row in rows]
        assert draws.at(rows).at(np.array([1, 4])).words(counter).tolist() == [column[3], column[9]]
        for piece in (slice(4), slice(2, 9), slice(7, 10), slice(3, 3)):
            assert draws.at(piece).words(counter).tolist() == column[piece]
            assert draws.at(piece).at(slice(1, 3)).words(counter).tolist() == column[piece][1:3]
            assert len(draws.at(piece)) == len(column[piece])
    assert len(draws.at(rows)) == 5


def test_joined_is_one_after_the_other():
    """Joined draws are the first's rows and then the second's, also when one of them is left with none."""
    source = SeededSource(3)
    first, second = source.draws("one", 4), source.draws("two", 3)
    joined = JoinedDraws(first, second)
    table = [*first.words(2).tolist(), *second.words(2).tolist()]

    assert joined.words(2).tolist() == table
    assert joined.at(np.array([1, 3])).words(2).tolist() == [table[1], table[3]]
    assert joined.at(np.array([4, 6])).words(2).tolist() == [table[4], table[6]]
    assert joined.at(np.array([4, 6])).word(1, 2) == table[6]


def test_keys_of_some_items():
    """The keys of some of the items draw what these items draw."""
    source = SeededSource(3)
    keys = source.identify(items(*TEXTS))
    some = keys.at(np.array([8, 2]))

    assert len(some) == 2
    assert source.item_draws("count", some).words(0).tolist() == words(source, [TEXTS[8], TEXTS[2]])


@pytest.mark.parametrize("bad", [3, 2.5, None, b"bytes", ("a",), float("nan")], ids=repr)
def test_items_must_be_text(bad):
    """Anything but text is refused with an error that carries no value from the data."""
    array = np.empty(2, dtype=object)
    array[:] = ["fine", bad]

    with pytest.raises(InvalidInput) as caught:
        SeededSource(1).identify(array)

    assert repr(bad) not in str(caught.value)


@each_source
def test_no_rows(source):
    """No items and no rows give no words, and no error."""
    assert len(source.identify(items())) == 0
    assert words(source, []) == []
    assert source.draws("x", 0).words(0).tolist() == []
    assert source.draws("x", 3).at(np.array([], dtype=np.int64)).words(0).tolist() == []
    assert len(JoinedDraws(source.draws("x", 0), source.draws("y", 0))) == 0


def test_a_secret_and_its_padding_differ():
    """A zero byte behind a secret makes another secret, although HMAC alone would not tell them apart."""
    context = NoiseContext(query="q", data_version="v", mechanism="m", mechanism_version=1)

    assert KeyedSource(SECRET, context).salt("x") != KeyedSource(SECRET + b"\0", context).salt("x")
