"""The options of a question, by the names under which all surfaces know them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from hushcount.model.amounts import Number

if TYPE_CHECKING:
    from hushcount.app.setting import Setting


class Options(TypedDict, total=False):
    """The options of `count`, `top` and `vocab`; each may be left out.

    Attributes:
        text: a text column whose words are the items (instead of `item`).
        ngrams: shortest and longest run of words that is an item, as (1, 3) or "1-3".
        by: further columns of the item, before the others; the answer is sorted and drawn by them.
        timezone: by whose clock `day(column)` and the like begin, such as "Europe/Berlin"; UTC unless said otherwise.
        date_format: how moments are written in a text, such as "%d/%m/%Y %H:%M", if not as ISO 8601; "seconds" or
            "milliseconds" if they are numbers since 1970.
        trim: leave off white space at both ends of items.
        lower: fold case away; on for words unless said otherwise, off for other items.
        preset: "cautious", "standard" (the default) or "generous".
        error: wanted half of the 95 % interval: "10%" of each count, at the price that was said; or a number of people,
            from which the price is solved.
        rho: what may be spent, instead of a preset; or
        epsilon: what may be spent, as (epsilon, delta).
        delta: the probability that a rare item of one person is named after all; 1e-6 unless said otherwise.
        where: a filter on rows, such as "country = 'NZ' AND day >= date('2026-01-01')".
        keys: the public list of items, if there is one: a file with one item per line, or the items themselves. Of
            several columns: CSV with these columns by name, or tuples.
        max_items_per_user: at most this many items are taken from each person.
        per_item_cap: how much one person may add to one count; 1 counts people.
        k: how many items `top` shows.
        counts: whether `top` shows counts; on unless said otherwise.
        method: a mechanism by name, instead of the chooser's.
        engine: "duckdb", "spark" or "pinot"; left out, what fits the source.
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
    by: str | Sequence[str]
    timezone: str
    date_format: str
    trim: bool
    lower: bool
    preset: str
    error: str | float
    rho: Number
    epsilon: Number
    delta: Number
    where: str
    keys: str | Path | Sequence[str] | Sequence[tuple[str, ...]]
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
