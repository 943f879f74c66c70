"""A request: one question with all its options, checked and complete, before any data is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches

from hushcount.app.aims import Aim, read_aim
from hushcount.app.items import everybody, make_items, public_items, tuple_words
from hushcount.app.options import Options
from hushcount.engines.filters import grammar
from hushcount.errors import InvalidParameter
from hushcount.model.budgets import DEFAULT_DELTA, PRESETS, Budget, EpsilonBudget, epsilon_budget, rho_budget
from hushcount.model.conditions import spell
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.queries import Question, Selection, TextItems, TupleItems, Verb

_TEXTS = {
    "text",
    "timezone",
    "date_format",
    "where",
    "method",
    "engine",
    "master",
    "table",
    "dataset",
    "analyst",
    "key",
}
_FLAGS = {"trim", "lower", "counts", "fresh"}


@frozen
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

    @property
    def aim(self) -> Aim | None:
        """What was asked of accuracy; None if nothing was."""
        share = self.facts.relative_error
        return None if share is None and self.people_error is None else Aim(share=share, people=self.people_error)

    def item_words(self) -> str:
        """What is counted, in a few words."""
        item = self.selection.item
        if isinstance(item, str):
            return item
        if isinstance(item, TupleItems):
            return tuple_words(item)
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
                "item": _canonical_item(item),
                "where": self.filter_words(),
                "per_item_cap": self.selection.per_item_cap,
                "max_items": self.facts.max_items,
                "public_items": None if public is None else sorted(public.tolist()),
                "k": self.facts.k,
                "with_counts": self.facts.with_counts,
                "budget": [type(self.budget).__name__, *map(_plain, _amounts(self.budget))],
                "method": self.method,
                "error": self._error(),
            },
            sort_keys=True,
            ensure_ascii=True,
        )

    def _error(self) -> list[float | str | None]:
        """What was asked of accuracy. A share that was said makes another plan than the same share unsaid."""
        said = [] if self.aim is None else ["half of an interval"]
        return [self.facts.aim, self.people_error, *said]


def _canonical_item(item: str | TextItems | TupleItems) -> object:
    match item:
        case str():
            return item
        case TextItems():
            return [item.column, item.shortest, item.longest, item.lower]
        case TupleItems():
            parts = [[part.column, part.unit] for part in item.parts]
            return {"parts": parts, "dress": [item.trim, item.lower], "clock": [item.zone, item.date_format]}


def make_request(question: Verb, *, user: str, item: str | Sequence[str] | None, options: Options) -> Request:
    """Check and complete the options of a question. Reads no data, but for the public list of items."""
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        near = get_close_matches(unknown[0], Options.__annotations__, n=1)
        guess = f"Did you mean {near[0]!r}?" if near else ""
        raise InvalidParameter("option", unknown[0], f"one of {', '.join(sorted(Options.__annotations__))}", guess)
    _require_kinds(user, item, options)
    if question == "people":
        if item is not None:
            raise InvalidParameter("item", item, "left out where people are counted", "For groups, say by and keys.")
        everyone, more = everybody(options)
        counted = _made("count", user=user, items=everyone, options=more)
        return replace(counted, said=frozenset(options))
    if question == "top" and "k" not in options:
        raise InvalidParameter("k", None, "given for a top list", "Write -k 10, or k=10, for the ten most held items.")
    return _made(question, user=user, items=make_items(item, options), options=options)


def _require_kinds(user: object, item: object, options: Options) -> None:
    """Refuse what is no text or no truth value where one is needed, before something inside stumbles over it."""
    columns = (item,) if item is None or isinstance(item, str) else item
    if not isinstance(columns, Sequence) or not all(one is None or isinstance(one, str) for one in columns):
        raise InvalidParameter("item", item, "the name of a column, or a list of names")
    if not isinstance(user, str):
        raise InvalidParameter("user", user, "the name of a column")
    for name, value in options.items():
        if name in _TEXTS and not isinstance(value, str | None):
            raise InvalidParameter(name, value, "a text")
        if name in _FLAGS and not isinstance(value, bool):
            raise InvalidParameter(name, value, "True or False")


def _made(question: Question, *, user: str, items: str | TextItems | TupleItems, options: Options) -> Request:
    cap = options.get("per_item_cap", 1)
    text = options.get("where")
    where = None if text is None else grammar.read(text)
    aim = read_aim(options.get("error")) or Aim()
    return Request(
        question=question,
        selection=Selection(user=user, item=items, where=where, per_item_cap=cap),
        facts=Facts(
            max_items=options.get("max_items_per_user"),
            per_item_cap=cap,
            public_items=public_items(options.get("keys"), items),
            k=options.get("k"),
            with_counts=options.get("counts", True),
            relative_error=aim.share,
        ),
        budget=_budget(options),
        method=options.get("method"),
        people_error=aim.people,
        fresh=options.get("fresh", False),
        said=frozenset(options),
    )


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


def _amounts(budget: Budget) -> tuple[Decimal, Decimal]:
    return (budget.epsilon if isinstance(budget, EpsilonBudget) else budget.rho), budget.delta


def _plain(value: Decimal) -> str:
    """One text for all ways of writing a number: 0.10 is 0.1."""
    plain = value.normalize()
    # A whole number keeps its zeros: it would be 1E+2.
    return str(plain.quantize(Decimal(1)) if plain == plain.to_integral_value() else plain)
