"""A release: the private table that leaves the product, with its intervals, its price and its receipt."""

from __future__ import annotations

import html
import importlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushcount.app.aims import read_aim
from hushcount.app.receipt import Receipt, cutoff_sentence, interval_sentence, question_words
from hushcount.app.words import price_words
from hushcount.errors import InvalidParameter, MissingExtra
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Int64s, Items
from hushcount.model.tuples import split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS_IN_CARD = 20
_NUMBERS = ("count", "low", "high")
# What the columns of numbers are called where people read them.
HEADINGS = {"count": "people", "low": "at least", "high": "at most"}


@frozen
class Release:
    """Released rows and what there is to know about them.

    Attributes:
        items: the items, largest released count first, or sorted by name where there are no counts.
        counts: noisy whole numbers of people, or None where only names were asked for.
        low: lower ends of the 95 % intervals, row by row.
        high: upper ends.
        cutoff: items held by fewer people than about this many are unlikely to be shown, counted from the first item
            that is not looked at, if any; None if all listed items are shown.
        cost: what it cost, as events.
        receipt: the receipt.
        enforced: False if a limit was only tracked, so that this answer was given whatever it cost.
        notes: what was done on the way that a person should know, such as a new data set; no part of the answer.
        population: whose account paid; None where nobody keeps count.
        free: True if it was asked and paid for before, so that nothing was charged for this call.
    """

    items: Items
    counts: Int64s | None
    low: Int64s | None
    high: Int64s | None
    cutoff: float | None
    cost: Cost
    receipt: Receipt
    enforced: bool = True
    notes: tuple[str, ...] = ()
    population: str | None = None
    free: bool = False

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        rows = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        return f"<Release: {rows}, {question_words(self.receipt)}, receipt {self.receipt.id}>"

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: those of the item as they are in the data, and where there are counts count, low and high.

        An item's column of one of these three names is called item_count, item_low or item_high.
        """
        names = _apart(self.receipt.columns)
        tuples = [split(item, len(names)) for item in self.items.tolist()]
        items: dict[str, list[Any]] = {name: [one[n] for one in tuples] for n, name in enumerate(names)}
        return items | self.numbers()

    def numbers(self) -> dict[str, list[int]]:
        """The columns count, low and high, where there are counts."""
        held = zip(_NUMBERS, (self.counts, self.low, self.high), strict=True)
        return {name: values.tolist() for name, values in held if values is not None}

    def grouped(self, width: int) -> Release:
        """The same rows by group: the first `width` columns of the item in the order of their texts, then as before."""
        groups = [split(item, len(self.receipt.columns))[:width] for item in self.items.tolist()]
        order = sorted(range(len(self)), key=groups.__getitem__)

        def sorted_by(values: Int64s | None) -> Int64s | None:
            return None if values is None else values[order]

        counts, low, high = map(sorted_by, (self.counts, self.low, self.high))
        return replace(self, items=self.items[order], counts=counts, low=low, high=high)

    def within(self, error: str | float) -> npt.NDArray[np.bool_]:
        """For each row, whether half of its interval is at most "10%" of its count, or so many people. Free."""
        aim = read_aim(error)
        if aim is None or self.counts is None or self.low is None or self.high is None:
            raise InvalidParameter("error", error, "a share or a number of people, asked of a release with counts")
        return aim.met(self.counts, (self.low, self.high))

    def to_bytes(self) -> bytes:
        """The release as bytes: what the ledger stores and gives again to the same question; an item is one text.

        Without what the data is called: that may change, and whoever is given the bytes again is told its name of then.
        """
        receipt = asdict(self.receipt)
        del receipt["dataset"]
        form = {
            "rows": {"item": self.items.tolist(), **self.numbers()},
            "cutoff": self.cutoff,
            "cost": self.cost.to_json(),
            "receipt": receipt,
        }
        return json.dumps(form, ensure_ascii=True).encode()

    @staticmethod
    def from_bytes(stored: bytes) -> Release:
        """The release that `to_bytes` wrote."""
        form = json.loads(stored)
        rows = {name: np.array(values, dtype=np.int64) for name, values in form["rows"].items() if name != "item"}
        return Release(
            items=np.array(form["rows"]["item"], dtype=object),
            counts=rows.get("count"),
            low=rows.get("low"),
            high=rows.get("high"),
            cutoff=form["cutoff"],
            cost=Cost.from_json(form["cost"]),
            receipt=Receipt.from_form(form["receipt"]),
        )

    def to_arrow(self) -> Any:  # noqa: ANN401  pyarrow is not a dependency, so its types cannot be named here
        """A pyarrow table."""
        return _need("pyarrow").table(self.to_dict())

    def to_pandas(self) -> Any:  # noqa: ANN401  as above
        """A pandas data frame."""
        return _need("pandas").DataFrame(self.to_dict())

    def to_polars(self) -> Any:  # noqa: ANN401  as above
        """A Polars data frame."""
        return _need("polars").DataFrame(self.to_dict())

    def save(self, path: str | Path) -> Path:
        """Write the rows to .parquet, .csv or .json, and the receipt beside them; gives the receipt's path."""
        from hushcount.app.files import write_rows  # only saving needs DuckDB

        return write_rows(self.to_dict(), Path(path), self.receipt)

    def plot(self, path: str | Path | None = None, *, most: int = 30) -> Figure:
        """Bars with whiskers and the cut-off, for at most `most` rows; saved as a picture if a path is given."""
        from hushcount.app.plots.counts import draw  # only pictures need matplotlib

        if self.counts is None:
            raise InvalidParameter("plot", "names only", "asked of a release with counts", "Use count or top.")
        return draw(self.to_dict(), self.receipt, None if path is None else Path(path), most=most)

    def _repr_html_(self) -> str:
        columns = self.to_dict()
        head = "".join(f"<th style='{_side(name)}'>{html.escape(HEADINGS.get(name, name))}</th>" for name in columns)
        rows = [
            "<tr>" + "".join(map(_cell, columns, row)) + "</tr>"
            for row in list(zip(*columns.values(), strict=True))[:_ROWS_IN_CARD]
        ]
        more = len(self) - len(rows)
        rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
        said = [] if self.counts is None else [interval_sentence(self.receipt)]
        said += [] if self.receipt.remark is None else [self.receipt.remark]
        said += [] if self.cutoff is None else [cutoff_sentence(self.receipt)]
        said.append("Free: asked before." if self.free else f"Price: {price_words(float(self.receipt.charged_rho))}.")
        said.append(f"Receipt {self.receipt.id}: .receipt")
        text = html.escape(" ".join(said))
        return f"<div><table><tr>{head}</tr>{''.join(rows)}</table>{rest}<p style='max-width:48em'>{text}</p></div>"


def _side(column: str) -> str:
    return f"text-align:{'right' if column in _NUMBERS else 'left'};padding:2px 10px"


def _cell(column: str, value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else html.escape(str(value))
    return f"<td style='{_side(column)}'>{text}</td>"


def _need(package: str) -> Any:  # noqa: ANN401  a module
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtra(package, f"pip install {package}") from None


def _apart(columns: tuple[str, ...]) -> list[str]:
    """Names that are none of our own, and differ: with item_ before them as often as it takes.

    Capital letters make no difference: in SQL, Count and count are one column, and one of the two would be renamed.
    """
    names, folded = list[str](), [name.casefold() for name in columns]
    for own in columns:
        name, taken = own, {*_NUMBERS, *(one.casefold() for one in names)}
        while name.casefold() in taken or (name != own and name.casefold() in folded):
            name = f"item_{name}"
        names.append(name)
    return names
