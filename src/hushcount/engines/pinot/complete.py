"""The checklist: when an answer of Pinot is about all of the data. Eleven points; any doubt refuses.

Pinot answers in part without a word: a group that was trimmed, a server that died half a minute ago, a segment that
is not loaded yet. A part of the data has no guarantee. So every answer is held against what the table must be made
of, as controller and servers tell it before and after. Each function below is one point of the list or several, and
works on what was told alone: what the machines of either version said can be replayed through it.

 1  asked in an order, with a LIMIT so large that trimming cannot lose a group that is wanted, and no options of others
 2  answered without exceptions, with a table of results
 3  no limit was reached, nothing is called partial
 4  all servers that were asked responded, and there are some
 5  all segments of the table were asked and looked at, none was left out on the way
 6  and they hold as many rows as the table has; they are those that the controller lists, and all of their rows count
 7  no segment that is still being written; a plain OFFLINE table whose settings rewrite nothing
 8  the columns of the result are the ones that were asked for: exact counts, no estimates
 9  the plan is the one that was asked for: no rewritten function, no lowered LIMIT
10  as many rows as there must be
11  the same data before and after, online and loaded on every server that should have it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from hushcount.errors import StoreIncomplete

Told: TypeAlias = Mapping[str, Any]
Row: TypeAlias = list[Any]

# Trims keep five times the LIMIT, or more.
_KEPT: Final = 5
_TRIMS = "minServerGroupTrimSize=-1;minSegmentGroupTrimSize=-1"
# Versions that do not know an option pass over it without a word, so nothing may rest on one.
_FIXED = "numGroupsLimit=1000000000;useMultistageEngine=false;enableNullHandling=false"
_HARMLESS = "numGroupsWarningLimitReached"
_LIMITS = ("numGroupsLimitReached", "maxRowsInJoinReached", "maxRowsInWindowReached")
_PARTIAL = (
    "partialResult",
    "groupsTrimmed",
    "rlsFiltersApplied",
    "materializedViewQueried",
    "earlyTerminationReasons",
)
_LEFT_OUT = ("numSegmentsPrunedByBroker", "numSegmentsPrunedInvalid", "numSegmentsPrunedByLimit")
# What JSON makes of the values of a type.
_MADE = {"STRING": str, "INT": int, "LONG": int, "BOOLEAN": bool}
_CODES = {
    180: "Access was denied: correct user and password_file, and let that user READ the table.",
    190: "The broker does not know the table: correct its name, or wait until the broker has heard of it.",
    245: "Raise pinot.server.query.executor.num.groups.limit on the servers.",
    305: "Bring all segments of the table ONLINE again: a server is away, disabled or starting.",
    425: "A server cannot be reached by the broker: start it again.",
    427: "A server did not respond: start it again, or raise the timeout of the store.",
    **dict.fromkeys((250, 400), "It took too long: raise the timeout of the store, or ask about fewer rows."),
}


def options(timeout: float) -> str:
    """The options of every statement (point 1)."""
    return f"{_TRIMS};{_FIXED};timeoutMs={int(timeout * 1000)}"


def least_limit(groups: int, wanted: int) -> int:
    """The smallest LIMIT under which no trimming of so many groups can touch those that are wanted (point 1)."""
    return max(wanted, -(-groups // _KEPT), 1)


def check_limit(limit: int, groups: int) -> None:
    """Point 1: a LIMIT under which groups may be trimmed leaves counts that are wrong, and nothing shows it."""
    if limit * _KEPT < groups:
        raise _refused(1, "servers may have trimmed groups before they were added up", "Ask with a larger LIMIT.")


def check_answer(told: Told, *, segments: int, docs: int) -> None:
    """Points 2 to 7, of any answer to a statement: it is about all segments and all rows of the table.

    Args:
        told: what the broker answered.
        segments: how many segments the table is made of.
        docs: how many rows they hold.
    """
    errors = _of(told, "exceptions", 2)
    if not isinstance(errors, list):
        raise _refused(2, "it does not tell its exceptions", "Look for what stands between us and the broker.")
    if errors:
        # Of what a machine says, only numbers are told: its words may quote values.
        found = [error.get("errorCode") for error in errors if isinstance(error, Mapping)]
        codes = sorted({code for code in found if isinstance(code, int)})
        hints = [_CODES[code] for code in codes if code in _CODES] or ["Look for it in the broker's log."]
        raise _refused(2, f"it came with exceptions {codes}", " ".join(dict.fromkeys(hints)))
    _of(told, "resultTable", 2)
    _of(told, "numGroupsLimitReached", 3)
    for name, value in told.items():
        reached = name.endswith("Reached") and name != _HARMLESS
        if (reached and value is not False) or (name in _PARTIAL and value):
            hint = "If it is a limit of groups, raise pinot.server.query.executor.num.groups.limit on the servers."
            shown = f"it says {name}" if name in (*_LIMITS, *_PARTIAL) else "a limit was reached"
            raise _refused(3, shown, hint)
    queried, responded = _number(told, "numServersQueried", 4), _number(told, "numServersResponded", 4)
    if not queried == responded > 0:
        raise _refused(4, "not all servers responded, or none was asked", "Start the servers that are away.")
    asked, pruned = _number(told, "numSegmentsQueried", 5), _number(told, "numSegmentsPrunedByServer", 5)
    if asked != segments or _number(told, "numSegmentsProcessed", 5) + pruned != asked:
        raise _refused(
            5, "not all segments were looked at", "Bring all segments ONLINE, and wait until they are loaded."
        )
    if any(_number(told, name, 5) != 0 for name in _LEFT_OUT):
        raise _refused(5, "segments were left out on the way", "Take routing.segmentPrunerTypes out of the table.")
    if _number(told, "totalDocs", 6) != docs:
        raise _refused(6, "the segments that were asked do not hold all rows", "Wait until all segments are loaded.")
    if _number(told, "numConsumingSegmentsQueried", 7) != 0:
        raise _refused(7, "a segment is still being written", _WAY_OUT)


_WAY_OUT = (
    "Ask an OFFLINE table instead: push what is closed into one, such as the segments of days that are over, and serve "
    'it with snapshot = "day".'
)


def check_table(config: Told | None) -> None:
    """Point 7: a plain OFFLINE table, as the controller has it, whose settings rewrite nothing."""
    if not config:
        raise _refused(7, "the controller knows no such table", "Correct its name: capital letters count.")
    table = config.get("OFFLINE")
    if not table or config.get("REALTIME"):
        raise _refused(7, "the table is not OFFLINE alone, so its rows change at any time", _WAY_OUT)
    if table.get("upsertConfig") or table.get("dedupConfig"):
        raise _refused(7, "rows of an upsert or dedup table are hidden by later ones", _WAY_OUT)
    query = table.get("query") or {}
    if query.get("useApproximateFunction") or query.get("expressionOverrideMap"):
        hint = "Take useApproximateFunction and expressionOverrideMap out of the table's query settings."
        raise _refused(7, "the table's settings rewrite statements", hint)
    if (table.get("routing") or {}).get("segmentPrunerTypes"):
        raise _refused(7, "the broker may leave out segments", "Take routing.segmentPrunerTypes out of the table.")


def check_met(counted: int, told: Told, segments: Mapping[str, int]) -> None:
    """Point 6: a broker answers from these very segments, by their names, and from all of their rows.

    Args:
        counted: how many rows it counts without a filter.
        told: the names of segments that it answers from. One without rows need not be among them.
        segments: the number of rows of each segment, as the controller has it.
    """
    check_columns(told, ["$segmentName"], ["STRING"])
    rows = _of(told["resultTable"], "rows", 6)
    listed = rows if isinstance(rows, list) else [None]
    found = {row[0] for row in listed if isinstance(row, list) and len(row) == 1 and isinstance(row[0], str)}
    if len(found) != len(listed) or not {name for name, docs in segments.items() if docs} <= found <= segments.keys():
        hint = "Name the broker and the controller of one cluster; no other table may have its name in other capitals."
        raise _refused(6, "the broker answers from other segments than the controller lists", hint)
    if counted != sum(segments.values()):
        hint = "Take the filter that the broker adds out, or sign in as somebody who may see all rows."
        raise _refused(6, "the broker does not count all rows", hint)


def check_columns(told: Told, names: Sequence[str], types: Sequence[str]) -> None:
    """Point 8: the result has exactly these columns, by the names that Pinot gives to exact functions."""
    schema = _of(told["resultTable"], "dataSchema", 8)
    if _of(schema, "columnNames", 8) != list(names) or _of(schema, "columnDataTypes", 8) != list(types):
        hint = "Turn pinot.broker.use.approximate.function off on the broker."
        raise _refused(8, "the columns of the result are others than were asked for", hint)


def check_plan(told: Told, root: str) -> None:
    """Point 9: the plan of a statement begins as it must."""
    if _of(told, "exceptions", 9) != [] or "resultTable" not in told:
        raise _refused(9, "the broker does not tell its plan", "Look for EXPLAIN PLAN in its log.")
    rows = _of(told["resultTable"], "rows", 9)
    first = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(first, list) or first[:1] != [root]:
        hint = "Take the broker's settings that lower a LIMIT or rewrite functions out of its configuration."
        raise _refused(9, "the broker would do something else than it was asked for", hint)


def check_rows(told: Told, expected: int, types: Sequence[str]) -> list[Row]:
    """Points 10 and 8: the rows of the result, which are as many as there must be, with values of these types."""
    rows = _of(told["resultTable"], "rows", 10)
    if not isinstance(rows, list) or len(rows) != expected:
        raise _refused(
            10, "it has another number of rows than there must be", "Look for a lowered LIMIT in the broker."
        )
    plain = set(map(type, rows)) <= {list} and set(map(len, rows)) <= {len(types)}
    if not plain or any(set(map(type, map(itemgetter(n), rows))) - {_MADE[name]} for n, name in enumerate(types)):
        raise _refused(8, "values are of other types than their columns", "Look for what the broker puts in between.")
    return rows


def check_groups(rows: Sequence[Row], docs: int) -> None:
    """Point 10: groups as they can be: each once, largest first, of one person or more, and no more than rows."""
    items, counts = set(map(itemgetter(0), rows)), list(map(itemgetter(1), rows))
    possible = not rows or docs >= counts[0] >= counts[-1] > 0
    if not possible or counts != sorted(counts, reverse=True) or len(items) != len(rows):
        raise torn("its groups are not such as were asked for")


def torn(what: str) -> StoreIncomplete:
    """Point 10: parts of an answer do not fit together."""
    return _refused(10, what, "Look for a filter or a LIMIT that the broker adds.")


def check_online(ideal: Told | None, external: Told | None) -> Told:
    """Point 11: there are segments, and all of them are ONLINE wherever they should be; the servers of each."""
    if not ideal:
        raise _refused(11, "the table has no segments", "Push one, and wait until it is loaded.")
    states = {state for where in ideal.values() for state in where.values()}
    if ideal != external or states != {"ONLINE"} or not all(ideal.values()):
        raise _refused(
            11, "not every segment is ONLINE where it should be", "Start the servers, or reload the segments."
        )
    return ideal


def check_loaded(ideal: Told, crc: Told, loaded: Mapping[str, Mapping[str, str]]) -> None:
    """Point 11: every server has loaded the very segments that the controller lists.

    Args:
        ideal: the servers of each segment.
        crc: the checksum of each segment, as the controller has it.
        loaded: for each server the checksums of what it has loaded.
    """
    if crc.keys() != ideal.keys():
        raise _refused(11, "the controller's lists of segments differ", "Wait until the push has ended.")
    for segment, where in ideal.items():
        if any((loaded.get(server) or {}).get(segment) != crc[segment] for server in where):
            raise _refused(11, "a server has not loaded what the controller lists", "Wait until the push has ended.")


def check_same(before: object, after: object) -> None:
    """Point 11: nothing changed meanwhile."""
    if before != after:
        hint = 'Ask again when the push has ended; of a store with snapshot = "day", on the next day (UTC).'
        raise _refused(11, "the table changed meanwhile", hint)


def unreachable(what: str) -> StoreIncomplete:
    """Point 11: somebody who must be asked cannot be."""
    return _refused(11, what, "Start the servers that are away, and let the service reach their admin ports.")


def _of(told: Told, name: str, point: int) -> Any:  # noqa: ANN401  whatever the field holds
    """A field that must be there."""
    if not isinstance(told, Mapping) or told.get(name) is None:
        raise _refused(point, f"it does not tell {name}", "This version of Pinot cannot be checked: use one that can.")
    return told[name]


def _number(told: Told, name: str, point: int) -> int:
    """A whole number that must be there."""
    found = _of(told, name, point)
    if type(found) is not int:
        raise _refused(
            point, f"what it tells as {name} is no number", "Look for what stands between us and the broker."
        )
    return found


def _refused(point: int, what: str, change: str) -> StoreIncomplete:
    return StoreIncomplete(
        f"Pinot's answer is not provably about all data, so there is none. Point {point} of 11: {what}. {change}",
        point=point,
    )
