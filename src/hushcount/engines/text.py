"""From texts to words and runs of words, twice: in Python for the reference engine, and as SQL for DuckDB.

The rules, the same in both:

1. The text is brought into Unicode's composed form (NFC). The curly apostrophe becomes the straight one. Soft hyphens
   and invisible joiners are removed: they never separate words.
2. Addresses are removed: `http://`, `https://` or `www.` and the printable ASCII characters that follow.
3. If asked, each character is replaced by its lower-case form (İ by i; no rule looks at the neighbours of a letter).
4. A word is a run of letters, digits and the marks upon them. Apostrophes between letters belong to the word (don't,
   l'eau); hyphens, underscores and all else separate words. Scripts written without spaces (Han, Hiragana, Katakana,
   Thai, Lao, Khmer, Myanmar) give one word for each letter with its marks.
5. An item is a run of `shortest` to `longest` words of one row, joined by one space.

What is a letter, a digit or a mark is what Python's `unicodedata` says; the SQL carries the same ranges, so the two
agree whatever version of Unicode the database knows. HTML is not parsed: strip tags first, or they become words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from hushcount.model.queries import TextItems

# Blocks of the scripts that are written without spaces. Their digits form words like any other digits.
_SPACELESS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # Han iteration and closing marks, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3031, 0x303C),  # kana repeat marks
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana phonetic extensions
    (0x3400, 0x4DBF),  # Han extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar extended B
    (0xAA60, 0xAA7F),  # Myanmar extended A
    (0xF900, 0xFAFF),  # Han compatibility
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1B000, 0x1B16F),  # kana supplements
    (0x20000, 0x323AF),  # Han extensions B and later
)
# Letters, digits and marks stand below this code point, or among the variation selectors.
_LAST_LETTER = 0x323AF
_SELECTORS = (0xE0100, 0xE01EF)

_INVISIBLE = "\u00ad\u200c\u200d\u2060\ufeff"
_APOSTROPHE = "\u2019"
# Spelled out instead of a case-insensitive flag: folding differs between regular-expression engines.
_ADDRESS = r"(?:[Hh][Tt][Tt][Pp][Ss]?://|\b[Ww][Ww][Ww]\.)[!-~]+"
_DOTTED_I = "\u0130"


def words(text: str, *, lower: bool) -> list[str]:
    """The words of one text, in order."""
    text = unicodedata.normalize("NFC", text)
    text = text.translate({ord(_APOSTROPHE): "'", **dict.fromkeys(map(ord, _INVISIBLE))})
    text = re.sub(_ADDRESS, " ", text, flags=re.ASCII)
    return _pattern().findall(lowered(text) if lower else text)


def lowered(text: str) -> str:
    """The text with each character in its lower-case form, by rule 3."""
    return "".join(map(str.lower, text.replace(_DOTTED_I, "i")))


def grams(items: TextItems, text: str) -> list[str]:
    """The items of one text: every run of `shortest` to `longest` words, as often as it occurs."""
    own = words(text, lower=items.lower)
    lengths = range(items.shortest, items.longest + 1)
    return [" ".join(own[start : start + n]) for n in lengths for start in range(len(own) - n + 1)]


def words_sql(text: str, *, lower: bool) -> str:
    """A SQL expression for the list of words of the text that the SQL expression `text` gives."""
    # Not translate(), which takes as long as finding the words.
    text = f"replace(nfc_normalize({text}), '{_APOSTROPHE}', '''')"
    text = f"regexp_replace({text}, '[{_INVISIBLE}]+', '', 'g')"
    text = f"regexp_replace({text}, '{_ADDRESS}', ' ', 'g')"
    if lower:
        text = lower_sql(text)
    return f"regexp_extract_all({text}, '{_spelled(_re2)}')"


def lower_sql(text: str) -> str:
    """A SQL expression for `lowered` of the text that the SQL expression `text` gives."""
    return f"lower({text})"


def grams_sql(items: TextItems, words: str) -> str:
    """A SQL expression for the list of items of the list of words that the SQL expression `words` gives."""
    lengths = range(items.shortest, items.longest + 1)
    return f"list_concat({', '.join(_runs_sql(words, n) for n in lengths)}, [])"


def _runs_sql(words: str, n: int) -> str:
    if n == 1:
        return words
    # Shifted copies, zipped: slicing the list anew for each run takes time in the square of its length.
    shifted = ", ".join(f"{words}[{k + 1}:len({words}) - {n - 1 - k}]" for k in range(n))
    run = " || ' ' || ".join(f"x[{k + 1}]" for k in range(n))
    return f"CASE WHEN len({words}) >= {n} THEN [{run} FOR x IN list_zip({shifted})] ELSE [] END"


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_spelled(_re).replace("''", "'"))


@cache
def _spelled(code_point: Callable[[int], str]) -> str:
    """The regular expression of one word, apostrophes doubled for SQL, code points spelled as the engine wants them."""

    def spell(ranges: tuple[tuple[int, int], ...]) -> str:
        return "".join(f"{code_point(first)}-{code_point(last)}" for first, last in ranges)

    spaceless, letters, marks = map(spell, _classes())
    word = f"[{letters}][{letters}{marks}]*"
    return f"[{spaceless}][{marks}]*|{word}(?:''{word})*"


def _re(point: int) -> str:
    return f"\\U{point:08X}"


def _re2(point: int) -> str:
    return f"\\x{{{point:X}}}"


@cache
def _classes() -> tuple[tuple[tuple[int, int], ...], ...]:
    """Ranges of code points: letters of scripts without spaces; other letters and digits; marks."""
    spaceless = {point for first, last in _SPACELESS for point in range(first, last + 1)}
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    for point in (*range(_LAST_LETTER + 1), *range(_SELECTORS[0], _SELECTORS[1] + 1)):
        category = unicodedata.category(chr(point))
        if category[0] == "M":
            found[2].append(point)
        elif category[0] == "L" or category == "Nl":
            found[point not in spaceless].append(point)
        elif category[0] == "N":
            found[1].append(point)
    return tuple(map(_ranges, found))


def _ranges(points: list[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as inclusive ranges."""
    firsts = [point for n, point in enumerate(points) if n == 0 or points[n - 1] != point - 1]
    lasts = [point for n, point in enumerate(points) if n + 1 == len(points) or points[n + 1] != point + 1]
    return tuple(zip(firsts, lasts, strict=True))
