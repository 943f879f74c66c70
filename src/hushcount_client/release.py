"""A release as the light client has it: rows, what there is to know about them, and what they cost."""

from __future__ import annotations

import csv
import html
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hushcount_client.problems import InvalidOption

_ROWS_IN_CARD = 20
_NUMBERS = ("count", "low", "high")
# What a spreadsheet would run as a formula, as the server's own files have it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One released item, of several columns a tuple of its values; without counts where only names were asked for."""

    item: str | tuple[str, ...]
    count: int | None = None
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Released rows and what there is to know about them.

    Attributes:
        id: under which the server gives it again, for ever and for nothing.
        rows: largest released count first, or sorted by name where there are no counts.
        cutoff: items held by fewer people than about this many are unlikely to be shown, counted from the first item
            that is not looked at, if any; None if all listed items are shown.
        notes: what a person should know, in sentences.
        receipt: what is protected, by what, at what price.
        cost: what it cost: releases, held, given_back, repeated.
        left: what is left afterwards; None if the server does not say.
        enforced: False if a limit was only tracked, so that this answer was given whatever it cost.
        made_up: True for a rehearsal: the rows are invented, and say nothing about anybody.
        told: all that the server said of the release.
    """

    id: str
    rows: tuple[Row, ...]
    cutoff: float | None
    notes: tuple[str, ...]
    receipt: Mapping[str, Any]
    cost: Mapping[str, Any]
    left: Mapping[str, Any] | None
    enforced: bool
    made_up: bool
    told: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name: those of the item as they are in the data, and where there are counts count, low and high.

        An item's column of one of these three names is called item_count, item_low or item_high.
        What is made up or only tracked has one more column that says so, whatever becomes of the table.
        """
        names = _apart(self.item_columns)
        cells = list(map(_cells, self.rows))
        columns: dict[str, list[Any]] = {name: [cell[n] for cell in cells] for n, name in enumerate(names)}
        columns |= self.numbers()
        if self.made_up:
            columns["made_up"] = [True] * len(self)
        if not self.enforced:
            columns["tracked"] = [True] * len(self)
        return columns

    def grouped(self, width: int) -> Release:
        """The same rows by group: the first `width` columns of the item in the order of their texts, then as before."""
        return replace(self, rows=tuple(sorted(self.rows, key=lambda row: _cells(row)[:width])))

    @property
    def item_columns(self) -> tuple[str, ...]:
        """What the columns of the item are called."""
        return tuple(map(str, self.receipt.get("columns", ("item",))))

    def numbers(self) -> dict[str, list[int]]:
        """The columns count, low and high, where there are counts."""
        held = {name: [getattr(row, name) for row in self.rows] for name in _NUMBERS}
        return {name: values for name, values in held.items() if any(value is not None for value in values)}

    def to_pandas(self) -> Any:  # noqa: ANN401  pandas is not a dependency, so its types cannot be named here
        """A pandas data frame.

        Raises:
            InvalidOption: pandas is not installed.
        """
        try:
            return importlib.import_module("pandas").DataFrame(self.to_dict())
        except ImportError:
            raise InvalidOption("this needs pandas, which is not installed; get it with: pip install pandas") from None

    def save(self, path: str | Path) -> Path:
        """Write the rows to .csv or .json, and the receipt beside them; gives the receipt's path.

        In .csv an item that a spreadsheet would run as a formula gets an apostrophe before it; .json has it as it is.
        """
        path = Path(path)
        if path.suffix not in {".csv", ".json"}:
            raise InvalidOption(f"the rows can be written to a name that ends in .csv or .json, not {path.name!r}")
        columns = self.to_dict()
        rows = list(zip(*columns.values(), strict=True))
        if path.suffix == ".csv":
            # An item may hold half a sign of UTF-16, which no file can: it is written as its number.
            with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                csv.writer(file).writerows([tuple(columns), *(tuple(map(_cell, row)) for row in rows)])
        else:
            forms = [dict(zip(columns, row, strict=True)) for row in rows]
            path.write_text(json.dumps(forms, indent=1) + "\n", encoding="utf-8")
        beside = path.with_suffix(".receipt.json")
        beside.write_text(json.dumps(self.receipt, indent=2) + "\n", encoding="utf-8")
        return beside

    def _repr_html_(self) -> str:
        columns = self.to_dict()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        rows = [
            "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in list(zip(*columns.values(), strict=True))[:_ROWS_IN_CARD]
        ]
        more = len(self) - len(rows)
        notes = [*self.notes, *([f"and {more:,} more rows"] if more > 0 else [])]
        below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
        return f"<div><table><tr>{head}</tr>{''.join(rows)}</table>{below}</div>"


def read_release(form: Mapping[str, Any]) -> Release:
    """The release of a reply: of a question that is done, or the release alone.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    inner = form.get("release", form)
    if inner.get("complete", True) is not True:
        raise ValueError("a part of an answer is none")
    cutoff, receipt = inner.get("cutoff"), dict(inner.get("receipt") or {})
    return Release(
        id=str(inner.get("id") or ""),
        rows=_rows(inner["rows"], len(receipt.get("columns", ("item",))) if receipt else None),
        cutoff=None if cutoff is None else float(cutoff),
        notes=tuple(map(str, inner.get("notes") or ())),
        receipt=receipt,
        cost=dict(form.get("cost") or {}),
        left=dict(form["left"]) if form.get("left") is not None else None,
        enforced=inner.get("enforced", True) is True,
        made_up=form.get("made_up", inner.get("made_up", False)) is not False,
        told=inner,
    )


def _rows(rows: Any, width: int | None) -> tuple[Row, ...]:  # noqa: ANN401  what the server sent
    """Rows from row by row, or from column by column as the ledger stores them."""
    if isinstance(rows, dict):
        rows = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    return tuple(_row(row, width) for row in rows)


def _row(row: Mapping[str, Any], width: int | None) -> Row:
    numbers = {name: row[name] for name in _NUMBERS if name in row}
    made = Row(item=row["item"] if isinstance(row["item"], str) else tuple(row["item"]), **numbers)
    cells = _cells(made)
    if width not in {None, len(cells)} or not all(isinstance(cell, str) for cell in cells):
        raise TypeError("no item")
    if any(value is not None and type(value) is not int for value in numbers.values()):
        raise TypeError("no row")
    return made


def _cells(row: Row) -> tuple[str, ...]:
    return (row.item,) if isinstance(row.item, str) else row.item


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


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
