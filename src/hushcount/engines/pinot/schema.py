"""Columns of Pinot: its types as kinds, and what counts as missing.

Pinot fills every gap with a value: a text with 'null', a whole number with the smallest of its type, or with what the
schema says (`defaultNullValue`). A row's value is missing if it is that filling: whether somebody wrote it or Pinot
did cannot be told apart, and a rule on the row's own value is all that privacy needs. Truth values and moments are
filled with values that occur (false, 1970), and so are metrics (0): these columns have no missing values, and to ask
for them is refused.
"""

from __future__ import annotations

from typing import Any

from hushcount.errors import InvalidInput
from hushcount.model.columns import Column, Kind
from hushcount.model.frozen import frozen

_KINDS: dict[str, Kind] = {
    "STRING": "text",
    "INT": "integer",
    "LONG": "integer",
    "BOOLEAN": "boolean",
    "TIMESTAMP": "moment",
}
_SMALLEST = {"INT": -(2**31), "LONG": -(2**63)}
_FIELDS = ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs", "complexFieldSpecs")
# What no column of Pinot can be called by: its segments would not load. Nothing is left to a parser.
_UNSPEAKABLE = {"\\", "\n", "\r", "\0"}


@frozen
class PinotColumn:
    """A column.

    Attributes:
        name: its name.
        type_name: Pinot's own name of its type.
        kind: what that is to everybody else.
        missing: the value that stands for a missing one; None if no value does.
    """

    name: str
    type_name: str
    kind: Kind
    missing: str | int | None = None

    @property
    def plain(self) -> Column:
        """The column as everybody else knows it."""
        return Column(name=self.name, kind=self.kind)

    @property
    def span(self) -> tuple[int, int]:
        """The smallest and the largest whole number of its type."""
        least = _SMALLEST[self.type_name]
        return least, -least - 1


def read_schema(schema: dict[str, Any]) -> tuple[PinotColumn, ...]:
    """The columns of a schema as a controller tells it, in its own order.

    Raises:
        InvalidInput: a column's name cannot be asked for safely.
    """
    found = [_column(group, spec) for group in _FIELDS for spec in schema.get(group) or ()]
    if schema.get("timeFieldSpec"):
        spec = schema["timeFieldSpec"]
        found.append(
            _column("dateTimeFieldSpecs", spec.get("outgoingGranularitySpec") or spec["incomingGranularitySpec"])
        )
    for column in found:
        # An asterisk alone means all columns to Pinot, also in quotes; names with a dollar in front are its own.
        if column.name in {"", "*"} or set(column.name) & _UNSPEAKABLE or column.name.startswith("$"):
            raise InvalidInput(
                "a column of the Pinot table has no name that can be asked for: it is empty or an asterisk, begins "
                "with a dollar, or has a backslash or a break in it; rename it in the schema"
            )
    if len({column.name.lower() for column in found}) < len(found):
        raise InvalidInput(
            "two columns of the Pinot table differ in small and capital letters alone, and a broker that takes no "
            "notice of them would filter by the wrong one; rename one in the schema"
        )
    return tuple(found)


def _column(group: str, spec: dict[str, Any]) -> PinotColumn:
    type_name = str(spec.get("dataType"))
    kind: Kind = _KINDS.get(type_name, "other")
    if group == "complexFieldSpecs" or spec.get("singleValueField") is False:
        kind = "nested"
    missing = None if group == "metricFieldSpecs" else _missing(type_name, kind, spec.get("defaultNullValue"))
    return PinotColumn(name=str(spec["name"]), type_name=type_name, kind=kind, missing=missing)


def _missing(type_name: str, kind: Kind, said: object) -> str | int | None:
    if kind == "text":
        return "null" if said is None else str(said)
    if kind == "integer":
        return _SMALLEST[type_name] if said is None else int(str(said))
    return None
