"""Words: the rules of engines.text, in Python and in SQL."""

from __future__ import annotations

import sys
import unicodedata

import duckdb
import pytest

from hushcount.engines.text import grams, grams_sql, words, words_sql
from hushcount.model.queries import TextItems

RULES = {
    "Hello, World!": ["hello", "world"],
    "don't don’t 'quoted' rock'n'roll a''b": ["don't", "don't", "quoted", "rock'n'roll", "a", "b"],
    "well-known snake_case e-mail@host.org #tag 3.14 1st": [
        *("well", "known", "snake", "case", "e", "mail", "host", "org", "tag", "3", "14", "1st"),
    ],
    "see https://a.b/c?d=1#e, HTTP://X.Y or www.x.org/ä now": ["see", "or", "ä", "now"],
    "awww.cute": ["awww", "cute"],
    "见http://x.y/z好": ["见", "好"],
    "我爱abc天123": ["我", "爱", "abc", "天", "123"],
    "ひらカナｶﾅ々": ["ひ", "ら", "カ", "ナ", "ｶ", "ﾅ", "々"],
    "สวัสดี ๑๒๓": ["ส", "วั", "ส", "ดี", "๑๒๓"],
    "សួស្តី မြန်မာ": ["សួ", "ស្", "តី", "မြ", "န်", "မာ"],
    "नमस्ते दुनिया।": ["नमस्ते", "दुनिया"],
    "한국어 עברית العربية": ["한국어", "עברית", "العربية"],
    "می\u200cخواهم soft\u00adhyphen": ["میخواهم", "softhyphen"],
    "e\u0301tude ÉTUDE": ["étude", "étude"],
    "İSTANBUL ΑΣ STRASSE ẞ": ["istanbul", "ασ", "strasse", "ß"],
    "\u0301 👍🏽 … — \x00": [],
    "<br />": ["br"],
    "": [],
}


@pytest.mark.parametrize("text", RULES)
def test_the_rules_of_words(text):
    """Each rule of the module, by example."""
    assert words(text, lower=True) == RULES[text]


def test_case_is_kept_if_asked():
    """Without lower-casing the words stand as they were written."""
    assert words("Hello WORLD İ", lower=False) == ["Hello", "WORLD", "İ"]


def test_runs_of_words():
    """Runs of two to three words, within one text, as often as they occur."""
    items = TextItems(column="t", shortest=2, longest=3)

    assert grams(items, "a b a b") == ["a b", "b a", "a b", "a b a", "b a b"]
    assert grams(items, "a") == []
    assert grams(TextItems(column="t", shortest=3, longest=3), "a b") == []


def all_characters():
    """Every character that Python's Unicode knows, but NUL and surrogates. A database may know later ones."""
    points = (point for point in range(1, sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)
    return [chr(point) for point in points if unicodedata.category(chr(point)) not in {"Cn", "Co"}]


@pytest.mark.parametrize("lower", [True, False])
def test_sql_agrees_on_every_character(lower):
    """The SQL and the Python tokeniser agree on each character of Unicode, alone and within a word."""
    characters = all_characters()
    rows = [characters[n : n + 100] for n in range(0, len(characters), 100)]
    texts = [" ".join([*row, *(f"A{one}b" for one in row)]) for row in rows]
    connection = duckdb.connect()
    sql = f"SELECT t, {words_sql('t', lower=lower)} FROM (SELECT unnest(?) AS t)"  # noqa: S608
    found = connection.execute(sql, [texts]).fetchall()

    assert len(characters) > 100_000
    assert len(found) == len(texts)
    assert not [text for text, own in found if own != words(text, lower=lower)]


def test_sql_agrees_on_runs():
    """Runs of up to eight words, shorter texts included."""
    connection = duckdb.connect()
    texts = [" ".join("abcdefghij"[:n]) for n in range(11)]
    for shortest, longest in [(1, 1), (1, 8), (2, 3), (8, 8)]:
        items = TextItems(column="t", shortest=shortest, longest=longest)
        split = f"SELECT {words_sql('t', lower=True)} AS w FROM (SELECT unnest(?) AS t)"  # noqa: S608
        sql = f"SELECT {grams_sql(items, 'w')} FROM ({split})"  # noqa: S608
        found = [own for (own,) in connection.execute(sql, [texts]).fetchall()]

        assert sorted(found) == sorted(grams(items, text) for text in texts)
