"""The questions as functions: `count`, `top`, `vocab`, `people` and `estimate`, each of a source and its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Unpack

from hushcount.app.answer import Asking, answer
from hushcount.app.charging import UNCHARGED, noting
from hushcount.app.estimating import Estimate, estimate_request
from hushcount.app.options import Options
from hushcount.app.recognising import by_name, with_facts
from hushcount.app.release import Release
from hushcount.app.request import make_request
from hushcount.app.setting import Setting
from hushcount.app.wiring import find_ledger, ledger_exists, make_setting, open_engine, open_header
from hushcount.ledger.ledger import Account, Balance
from hushcount.ledger.limits import NEW_ORDER
from hushcount.library.surface import public
from hushcount.library.surroundings import look_around
from hushcount.model.frozen import frozen
from hushcount.model.queries import Verb

_FITS = "The file can be opened, and its columns fit."


@frozen
class Asked:
    """A question as it is asked from Python or typed: of which source, by which columns, with which options."""

    question: Verb
    source: object
    user: str
    item: str | Sequence[str] | None
    options: Options


@public("k", "counts")
def count(source: object, *, user: str, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
    """How many people have each item: of a column, of several, or of `day(column)`.

    Args:
        source: a file, a frame (pandas, Polars, Arrow, Spark), a DuckDB relation, or the address of a table.
        user: the column that says who a row belongs to: all rows of a person are protected together.
        item: the column, or columns, whose values are counted; not with `text`.
        **options: see below.
    """
    return _release(Asked(question="count", source=source, user=user, item=item, options=options))


@public()
def top(source: object, *, user: str, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
    """The k items that most people have; `k` must be given."""
    return _release(Asked(question="top", source=source, user=user, item=item, options=options))


@public("k", "counts")
def vocab(source: object, *, user: str, item: str | Sequence[str] | None = None, **options: Unpack[Options]) -> Release:
    """Which items may be named at all, without counts."""
    return _release(Asked(question="vocab", source=source, user=user, item=item, options=options))


@public("text", "ngrams", "max_items_per_user", "per_item_cap", "k", "counts")
def people(source: object, *, user: str, **options: Unpack[Options]) -> Release:
    """How many people there are in all; `by` and `keys` for how many in each group of a public list."""
    return _release(Asked(question="people", source=source, user=user, item=None, options=options))


@public()
def estimate(
    source: object = None,
    *,
    user: str,
    item: str | Sequence[str] | None = None,
    question: Verb = "count",
    **options: Unpack[Options],
) -> Estimate:
    """What a question would cost at most and how accurate its answer would be. The data is not opened.

    Facts that the catalog declares of a data set count, if the source's path or `dataset` is known there.
    """
    return price(Asked(question=question, source=source, user=user, item=item, options=options))[0]


def _release(asked: Asked) -> Release:
    notes: list[str] = []
    release, _ = ask(asked, note=notes.append)
    return replace(release, notes=tuple(notes))


def ask(
    asked: Asked, *, say: Callable[[str], None] = lambda _: None, note: Callable[[str], None] = lambda _: None
) -> tuple[Release, Balance | None]:
    """Answer a question; also what its data set has left, None where nobody keeps count.

    Args:
        asked: the question.
        say: told the name of each stage as it begins.
        note: told in a sentence what a person should know.
    """
    options, source = asked.options, asked.source
    with noting(UNCHARGED):
        request = make_request(asked.question, user=asked.user, item=asked.item, options=options)
    with _setting(asked) as setting:
        for sentence in setting.notes:
            note(sentence)
        with noting(UNCHARGED):
            table, master = options.get("table"), options.get("master")
            engine = open_engine(source, options.get("engine"), table=table, master=master, digests=setting.digests)
        call = Asking(dataset=options.get("dataset"), key=options.get("key"), say=say, note=note)
        try:
            release = answer(request, engine, setting, call=call)
        finally:
            # An engine that was handed over is its owner's to close.
            if engine is not source:
                engine.close()
        return _grouped(release, options), _left(release, setting)


def _grouped(release: Release, options: Options) -> Release:
    """Sorted by what it was asked `by`, if by anything."""
    by = options.get("by", ())
    return release.grouped(1 if isinstance(by, str) else len(by)) if by else release


def price(asked: Asked) -> tuple[Estimate, Balance | None]:
    """The estimate of a question, and what its data set has left as far as names tell; no data is read.

    None is left of data that no ledger knows: it has all of its budget yet.
    """
    options = asked.options
    request = make_request(asked.question, user=asked.user, item=asked.item, options=options)
    if not _keeps_count(asked):
        # A ledger that will be founded knows its costs for so many orders.
        return estimate_request(request, None if options.get("ledger") is False else NEW_ORDER), None
    with _setting(asked) as setting:
        dataset = by_name(asked.source, setting, options.get("dataset"))
        order = None if setting.ledger is None else setting.ledger.order
        estimated = estimate_request(with_facts(request, dataset), order)
        if dataset is None or setting.ledger is None:
            return estimated, None
        return estimated, setting.ledger.balance(Account(kind="dataset", name="", entity=dataset.population))


def check(asked: Asked) -> str:
    """Look whether the data is there and its columns fit a question; no value is read. Gives what was looked at.

    Raises:
        UnreadableSource, UnknownColumn, UnsafeFilter, InvalidInput: as the question itself would.
    """
    options = asked.options
    request = make_request(asked.question, user=asked.user, item=asked.item, options=options)
    engine = open_header(asked.source, options.get("engine"), table=options.get("table"))
    if engine is None:
        return "The data was not opened: of this kind of source columns are checked when the question is asked."
    try:
        engine.validate(request.selection)
        listed = engine.describe().listed
    finally:
        if engine is not asked.source:
            engine.close()
    if not listed:
        return "The file can be opened. Its keys are private, so that nobody looked whether these columns are there."
    return "The file can be opened, and its columns and the filter fit." if request.selection.where else _FITS


def _left(release: Release, setting: Setting) -> Balance | None:
    if setting.ledger is None or release.population is None:
        return None
    return setting.ledger.balance(Account(kind="dataset", name="", entity=release.population))


def _keeps_count(asked: Asked) -> bool:
    """Whether there is a ledger already."""
    options = asked.options
    if options.get("setting") is not None:
        return True
    ledger = options.get("ledger")
    return ledger is not False and ledger_exists(find_ledger(look_around(ledger=ledger or None), asked.source))


@contextmanager
def _setting(asked: Asked) -> Iterator[Setting]:
    """The setting that was handed over, or one for this call alone."""
    options = asked.options
    given = options.get("setting")
    if given is not None:
        yield given
        return
    ledger = options.get("ledger")
    places = look_around(ledger=ledger or None, analyst=options.get("analyst"))
    with make_setting(places, asked.source, keeps_count=ledger is not False) as setting:
        yield setting
