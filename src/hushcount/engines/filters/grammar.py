"""The grammar of filters: from a text to a tree of conditions, or to a refusal that says what to write instead."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal, NoReturn

from hushcount.errors import UnsafeFilter
from hushcount.model.conditions import (
    KEYWORDS,
    Among,
    Between,
    Compare,
    Condition,
    Joined,
    Like,
    Missing,
    Not,
    Operator,
    Value,
)

_LONGEST = 20_000
_DEEPEST = 50
# Longer ones are too much for some engine's regular expressions.
_LONGEST_PATTERN = 1_000
_EXAMPLE = "Write for example: country = 'FR' AND year >= 2020."
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")+")
    | (?P<number>[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<word>[^\W\d]\w*)
    | (?P<comment>--|/\*)
    | (?P<sign><=|>=|!=|<>|=|<|>|\(|\)|,)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
# Surrogates that stand alone: no UTF-8 can hold them, so no engine takes them.
_HALVES = re.compile("[\ud800-\udfff]")
_STRAY = {
    ";": "a filter is one condition, not a statement",
    "'": "a text is open: close it with a single quote, and double the quotes within",
    '"': "a name is open: close it with a double quote",
    **dict.fromkeys("+-*/%|", "a filter does not calculate"),
}
_FLIPPED: dict[str, Operator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def read(text: str) -> Condition:
    """The tree of a filter, read once. Columns are not looked up yet.

    The limits are those of the text that was typed. What passes them can be answered: a tree so deep and so wide fits
    into any engine's query, and the tree's own spelling, which may be longer and deeper, is never read again.
    """
    if len(text) > _LONGEST:
        raise UnsafeFilter(f"the filter has more than {_LONGEST} characters; put long lists into a column of the data")
    if _HALVES.search(text):
        raise UnsafeFilter("the filter holds half of a character, which no text in the data can hold; write it anew")
    tokens = _Tokens(text)
    if tokens.group == "end":
        raise UnsafeFilter(f"the filter is empty; leave it out to take all rows. {_EXAMPLE}")
    condition = _joined(tokens, "OR", 0)
    if tokens.group != "end":
        tokens.refuse("a condition ends before it")
    return condition


class _Tokens:
    """The tokens of one filter, one at a time."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0
        self.group = self.token = ""
        self.step()

    def step(self) -> None:
        """Go to the next token."""
        found = _TOKEN.match(self._text, self._place)
        if found is None or found.lastgroup is None:
            place = len(self._text) - len(self._text[self._place :].lstrip())
            stray = self._text[place]
            why = _STRAY.get(stray, "it has no place in a filter")
            raise UnsafeFilter(f"the filter holds {stray!r} at character {place + 1}: {why}. {_EXAMPLE}")
        self.group, self.token, self._place = found.lastgroup, found.group(found.lastgroup), found.end()
        if self.group == "comment":
            self.refuse("comments are not allowed")

    def took(self, token: str) -> bool:
        """Whether the next token is this keyword or sign; then step over it."""
        taken = self.group in {"word", "sign"} and self.token.upper() == token
        if taken:
            self.step()
        return taken

    def want(self, token: str, why: str) -> None:
        """Step over this keyword or sign, or refuse."""
        if not self.took(token):
            self.refuse(why)

    def at_literal(self) -> bool:
        """Whether a literal comes next. A column may be called date, too."""
        word = self.token.upper() if self.group == "word" else ""
        if word == "DATE":
            return re.match(r"\s*\(?\s*'", self._text[self._place :]) is not None
        return self.group in {"text", "number"} or word in {"TRUE", "FALSE"}

    def refuse(self, why: str) -> NoReturn:
        """Say that the filter cannot be read from here on."""
        where = f"at {self.token!r}" if self.token else "at its end"
        raise UnsafeFilter(f"the filter cannot be read {where}: {why}. {_EXAMPLE}")


def _joined(tokens: _Tokens, word: Literal["AND", "OR"], depth: int) -> Condition:
    parts: list[Condition] = []
    while True:
        part = _joined(tokens, "AND", depth) if word == "OR" else _negated(tokens, depth + 1)
        # a AND (b AND c) is a AND b AND c
        parts.extend(part.parts if isinstance(part, Joined) and part.word == word else (part,))
        if not tokens.took(word):
            return parts[0] if len(parts) == 1 else Joined(word=word, parts=tuple(parts))


def _negated(tokens: _Tokens, depth: int) -> Condition:
    if depth > _DEEPEST:
        raise UnsafeFilter(f"the filter is nested more than {_DEEPEST} deep; write it with fewer parentheses")
    if tokens.took("NOT"):
        part = _negated(tokens, depth + 1)
        return part.part if isinstance(part, Not) else Not(part=part)
    if tokens.took("("):
        condition = _joined(tokens, "OR", depth)
        tokens.want(")", "a parenthesis is open")
        return condition
    return _condition(tokens)


def _condition(tokens: _Tokens) -> Condition:
    if tokens.at_literal():
        value, operator = _literal(tokens), _operator(tokens)
        return Compare(column=_column(tokens), operator=_FLIPPED[operator], value=value)
    column = _column(tokens)
    if tokens.took("IS"):
        negated = tokens.took("NOT")
        tokens.want("NULL", "IS is followed by NULL or NOT NULL")
        return Not(part=Missing(column=column)) if negated else Missing(column=column)
    if tokens.took("NOT"):
        return Not(part=_membership(tokens, column) or tokens.refuse("NOT is followed by IN, BETWEEN or LIKE here"))
    return _membership(tokens, column) or Compare(column=column, operator=_operator(tokens), value=_literal(tokens))


def _membership(tokens: _Tokens, column: str) -> Among | Between | Like | None:
    if tokens.took("IN"):
        tokens.want("(", "IN is followed by a list in parentheses")
        values = [_literal(tokens)]
        while tokens.took(","):
            values.append(_literal(tokens))
        tokens.want(")", "the list of IN ends with a parenthesis")
        return Among(column=column, values=tuple(values))
    if tokens.took("BETWEEN"):
        low = _literal(tokens)
        tokens.want("AND", "BETWEEN has two ends: BETWEEN 1 AND 5")
        return Between(column=column, low=low, high=_literal(tokens))
    if tokens.took("LIKE"):
        if tokens.group != "text":
            tokens.refuse("LIKE is followed by a text in single quotes")
        pattern = str(_literal(tokens))
        if len(pattern) > _LONGEST_PATTERN:
            raise UnsafeFilter(f"the filter has a LIKE pattern of more than {_LONGEST_PATTERN} characters; shorten it")
        return Like(column=column, pattern=pattern)
    return None


def _operator(tokens: _Tokens) -> Operator:
    sign = {"<>": "!="}.get(tokens.token, tokens.token)
    if tokens.group != "sign" or sign not in _FLIPPED:
        tokens.refuse("a column is followed by =, !=, <, <=, >, >=, IN, BETWEEN, LIKE or IS NULL")
    tokens.step()
    return _FLIPPED[_FLIPPED[sign]]


def _column(tokens: _Tokens) -> str:
    if tokens.group == "name":
        name = tokens.token[1:-1].replace('""', '"')
    elif tokens.group == "word" and (tokens.token.upper() == "DATE" or tokens.token.upper() not in KEYWORDS):
        name = tokens.token
    else:
        tokens.refuse("a condition compares one column with literals")
    tokens.step()
    if tokens.took("("):
        raise UnsafeFilter(
            f"the filter calls {name!r} as a function, and functions are not allowed: a row is kept or left out by its "
            f"own columns, as they are. {_EXAMPLE}"
        )
    return name


def _literal(tokens: _Tokens) -> Value:
    group, token = tokens.group, tokens.token
    if not tokens.at_literal():
        if group == "word" and token.upper() == "NULL":
            raise UnsafeFilter("the filter compares with NULL, which is never true; write: column IS NULL")
        tokens.refuse("a column is compared with a literal: 'text' in single quotes, 7, 1.5, TRUE or DATE '2024-12-31'")
    tokens.step()
    if group == "text":
        return token[1:-1].replace("''", "'")
    if group == "number":
        return _number(token)
    return _date(tokens) if token.upper() == "DATE" else token.upper() == "TRUE"


def _number(token: str) -> int | float:
    number = int(token) if re.fullmatch("[+-]?[0-9]{1,30}", token) else float(token)
    if not -(2**63) <= number < 2**63:
        raise UnsafeFilter(f"the filter holds the number {token}, which is out of range; numbers stay within 64 bits")
    return number


def _date(tokens: _Tokens) -> date:
    opened = tokens.took("(")
    token = tokens.token[1:-1]
    tokens.step()
    if opened:
        tokens.want(")", "date('2024-12-31') ends with a parenthesis")
    try:
        # Stricter than Python, which knows other ways of writing a date.
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", token):
            return date.fromisoformat(token)
    except ValueError:
        pass
    raise UnsafeFilter(f"the filter holds the date {token!r}, which is none; write it as DATE '2024-12-31'")
