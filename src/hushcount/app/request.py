"""A request: one question with all its options, checked and complete, before any data is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from hushcount.app.paths import read_text
from hushcount.engines.filters import grammar
from hushcount.errors import InvalidParameter, UnreadableSource
from hushcount.model.amounts import Number
from hushcount.model.budgets import DEFAULT_DELTA, PRESETS, Budget, EpsilonBudget, epsilon_budget, rho_budget
from hushcount.model.conditions import spell
from hushcount.model.facts import Facts
from hushcount.model.inputs import Items
from hushcount.model.queries import Question, Selection, TextItems

if TYPE_CHECKING:
    from hushcount.app.setting import Setting


class Options(TypedDict, total=False):
    """The options of `count`, `top` and `vocab`; each may be left out.

    Attributes:
        text: a text column whose words are the items (instead of `item`).
        ngrams: shortest and longest run of words that is an item, as (1, 3) or "1-3".
        lower: fold case away in text; on unless said otherwise.
        preset: "cautious", "standard" (the default) or "generous".
        error: wanted accuracy: "10%" of each count, or a number of people, from which the cost is solved.
        rho: what may be spent, instead of a preset; or
        epsilon: what may be spent, as (epsilon, delta).
        delta: the probability that a rare item of one person is named after all; 1e-6 unless said otherwise.
        where: a filter on rows, such as "country = 'NZ' AND day >= date('2026-01-01')".
        keys: the public list of items, if there is one: a file with one item per line, or the items themselves.
        max_items_per_user: at most this many items are taken from each person.
        per_item_cap: how much one person may add to one count; 1 counts people.
        k: how many items `top` shows.
        counts: whether `top` shows counts; on unless said otherwise.
        method: a mechanism by name, instead of the chooser's.
        engine: "duckdb" or "spark"; left out, what fits the source.
        master: where Spark runs, such as "spark://host:7077"; left out, Spark's own setting or this machine.
        table: the table, where the source is a database with several.
        fresh: draw new noise, and pay again, instead of giving the same answer to the same question.
        ledger: where spending is kept: a file or a PostgreSQL address; False for data that nobody needs protecting in.
        dataset: the data set of the catalog that the data belongs to; a frame that may change needs one, or each of its
            states is a data set of its own.
        analyst: who asks, if not the user of this computer.
        key: a name for this attempt: repeating a call that may have failed, with the same key, never pays twice.
        setting: secret, ledger and who asks, opened before and shared by many calls, instead of `ledger` and `analyst`.
    """

    text: str
    ngrams: str | tuple[int, int]
    lower: bool
    preset: str
    error: str | float
    rho: Number
    epsilon: Number
    delta: Number
    where: str
    keys: str | Path | Sequence[str]
    max_items_per_user: int
    per_item_cap: int
    k: int
    counts: bool
    method: str
    engine: str
    master: str
    table: str
    fresh: bool
    ledger: str | Path | Literal[False]
    dataset: str
    analyst: str
    key: str
    setting: Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked, of which columns and rows, with which declared facts, for how much; `said`: which options were."""

    question: Question
    selection: Selection
    facts: Facts
    budget: Budget
    method: str | None
    people_error: float | None
    fresh: bool
    said: frozenset[str] = frozenset()

    def item_words(self) -> str:
        """What is counted, in a few words."""
        item = self.selection.item
        if isinstance(item, str):
            return item
        runs = "words" if item.longest == 1 else f"runs of {item.shortest} to {item.longest} words"
        return f"{runs} of {item.column}"

    def filter_words(self) -> str | None:
        """The filter, written in the one way in which it is shown and compared; never read again."""
        where = self.selection.where
        return None if where is None else spell(where)

    def canonical(self) -> str:
        """One text for all ways of asking the same: the key of the noise, and later of the stored answer."""
        item = self.selection.item
        public = self.facts.public_items
        return json.dumps(
            {
                "question": self.question,
                "user": self.selection.user,
                "item": item if isinstance(item, str) else [item.column, item.shortest, item.longest, item.lower],
                "where": self.filter_words(),
                "per_item_cap": self.selection.per_item_cap,
                "max_items": self.facts.max_items,
                "public_items": None if public is None else sorted(public.tolist()),
                "k": self.facts.k,
                "with_counts": self.facts.with_counts,
                "budget": [type(self.budget).__name__, *map(_plain, _amounts(self.budget))],
                "method": self.method,
                "error": [self.facts.aim, self.people_error],
            },
            sort_keys=True,
            ensure_ascii=True,
        )


def make_request(question: Question, *, user: str, item: str | None, options: Options) -> Request:
    """Check and complete the options of a question. Reads no data, but for the public list of items."""
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        raise InvalidParameter("option", unknown[0], f"one of {', '.join(sorted(Options.__annotations__))}")
    if question == "top" and "k" not in options:
        raise InvalidParameter("k", None, "given for a top list", "Write -k 10, or k=10, for the ten most held items.")
    cap = options.get("per_item_cap", 1)
    text = options.get("where")
    where = None if text is None else grammar.read(text)
    relative, people = _error(options.get("error"))
    return Request(
        question=question,
        selection=Selection(user=user, item=_item(item, options), where=where, per_item_cap=cap),
        facts=Facts(
            max_items=options.get("max_items_per_user"),
            per_item_cap=cap,
            public_items=_public_items(options.get("keys")),
            k=options.get("k"),
            with_counts=options.get("counts", True),
            relative_error=relative,
        ),
        budget=_budget(options),
        method=options.get("method"),
        people_error=people,
        fresh=options.get("fresh", False),
        said=frozenset(options),
    )


def _item(item: str | None, options: Options) -> str | TextItems:
    text = options.get("text")
    if (item is None) == (text is None):
        raise InvalidParameter("item", item, "given, or else a text column")
    if item is not None:
        return item
    shortest, longest = _ngrams(options.get("ngrams", (1, 1)))
    return TextItems(column=str(text), shortest=shortest, longest=longest, lower=options.get("lower", True))


def _ngrams(value: str | tuple[int, int]) -> tuple[int, int]:
    if isinstance(value, tuple):
        return value
    first, _, last = value.partition("-")
    if not first.isascii() or not first.isdigit() or (last and not (last.isascii() and last.isdigit())):
        raise InvalidParameter("ngrams", value, "a number of words or a range, such as 1 or 1-3")
    return int(first), int(last or first)


def _budget(options: Options) -> Budget:
    given = [name for name in ("preset", "rho", "epsilon") if name in options]
    if len(given) > 1:
        raise InvalidParameter(given[1], options[given[1]], f"left out, because {given[0]} says what may be spent")
    delta = options.get("delta", DEFAULT_DELTA)
    if "epsilon" in options:
        return epsilon_budget(options["epsilon"], delta)
    if "rho" in options:
        return rho_budget(options["rho"], delta)
    preset = options.get("preset", "standard")
    if preset not in PRESETS:
        raise InvalidParameter("preset", preset, f"one of {', '.join(PRESETS)}")
    return rho_budget(PRESETS[preset], delta)


def _error(value: str | float | None) -> tuple[float | None, float | None]:
    if value is None:
        return None, None
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        raise InvalidParameter("error", value, "a share such as 10%, or a number of people such as 50")
    return (number / 100, None) if text.endswith("%") else (None, number)


def _public_items(keys: str | Path | Sequence[str] | None) -> Items | None:
    if keys is None:
        return None
    return listed(read_list(Path(keys)) if isinstance(keys, str | Path) else keys)


def read_list(path: Path) -> list[str]:
    """A public list from a file: one item on each line, empty lines left out."""
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableSource(f"the public list {str(path)!r} cannot be read ({type(error).__name__})") from None
    items = [line for line in lines if line]
    if not items:
        raise UnreadableSource(
            f"the public list {str(path)!r} cannot be used: no item stands in it; write one on each line"
        )
    return items


def listed(items: Sequence[str]) -> Items:
    """A public list as mechanisms take it: each item once."""
    return np.array(list(dict.fromkeys(items)), dtype=object)


def _amounts(budget: Budget) -> tuple[Decimal, Decimal]:
    return (budget.epsilon if isinstance(budget, EpsilonBudget) else budget.rho), budget.delta


def _plain(value: Decimal) -> str:
    """One text for all ways of writing a number: 0.10 is 0.1."""
    plain = value.normalize()
    # A whole number keeps its zeros: it would be 1E+2.
    return str(plain.quantize(Decimal(1)) if plain == plain.to_integral_value() else plain)
