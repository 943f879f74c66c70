"""The checklist, point by point: what machines of both versions said is replayed through it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from hushcount.engines.pinot import complete
from hushcount.errors import StoreIncomplete

SAMPLES = Path(__file__).parent / "samples"
VERSIONS = ("0.11.0", "1.5.1")
TYPES = ("STRING", "INT")
# The table of the samples.
WHOLE = {"segments": 4, "docs": 100_000}
# What was recorded, and the point that refuses it. None: what is told is spotless.
REPLAYED = {
    "0.11.0": {
        "complete": None,
        "no_rows_match": None,
        "default_limit_10": None,
        "silent_no_order_by": None,
        "silent_server_trim_default": None,
        "segment_trim": None,
        "empty_table": 2,
        "num_groups_limit": 3,
        "server_gone_40s": 5,
        **dict.fromkeys(("server_killed_3s", "server_killed_at_once", "timeout"), 2),
        **dict.fromkeys(("syntax_error", "unknown_column", "unknown_table"), 2),
    },
    "1.5.1": {
        "complete": None,
        "no_rows_match": None,
        "default_limit_10": None,
        "silent_no_order_by": None,
        "silent_server_trim_default": None,
        "mse_complete_top": None,
        "mse_weighted_complete": None,
        "mse_trim_default": None,
        "segment_trim": 3,
        "empty_table": 4,
        **dict.fromkeys(("num_groups_limit", "mse_num_groups_limit", "mse_join_break", "mse_window_break"), 3),
        **dict.fromkeys(("server_gone_40s", "server_killed_3s", "server_killed_at_once", "timeout"), 2),
        **dict.fromkeys(("mse_server_gone_40s", "mse_server_killed_3s", "mse_num_groups_limit_error"), 2),
        **dict.fromkeys(("mse_window_throw", "syntax_error", "unknown_column", "unknown_table"), 2),
    },
}


def sample(version, name):
    """A recorded answer."""
    told = json.loads((SAMPLES / version / f"{name}.json").read_text(encoding="utf-8"))
    return told.get("response", told)


def point_of(check, *arguments, **more):
    """The point that refuses; None if none does."""
    try:
        check(*arguments, **more)
    except StoreIncomplete as refused:
        return refused.point
    return None


@pytest.fixture(params=VERSIONS)
def good(request):
    """A complete answer of each version."""
    return sample(request.param, "complete")


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_answers_are_told_apart(version):
    """Every answer that was recorded: what shows that it is in part is refused by the point that shows it."""
    recorded = {path.stem for path in (SAMPLES / version).glob("*.json") if not path.stem.startswith("controller_")}
    found = {
        name: point_of(complete.check_answer, sample(version, name), **WHOLE) for name in recorded if name != "explain"
    }

    assert recorded - {"explain"} == REPLAYED[version].keys()
    assert found == REPLAYED[version]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["silent_server_trim_default", "silent_no_order_by", "segment_trim"])
def test_a_trimmed_answer_is_refused_by_how_it_was_asked(version, name):
    """Every field of it may be spotless: a LIMIT of a fifth of all groups rules trims out."""
    rows, groups = sample(version, name)["resultTable"]["rows"], 20_000

    assert len(rows) == 5
    assert point_of(complete.check_limit, 5, groups) == 1
    assert point_of(complete.check_limit, complete.least_limit(groups, 5), groups) is None
    assert complete.least_limit(groups, 5) == 4000
    assert point_of(complete.check_rows, sample(version, name), complete.least_limit(groups, 5), TYPES) == 10


def trusting(told):
    """A twin that trusts the flags alone, as Pinot's own program for Python does."""
    flags = ("numGroupsLimitReached", "partialResult", "groupsTrimmed")
    return (
        not told["exceptions"]
        and told["numServersResponded"] == told["numServersQueried"]
        and not any(told.get(flag) for flag in flags)
    )


def test_a_twin_that_trusts_the_flags_is_caught():
    """It takes half of the data for all of it; ours does not."""
    half, whole = sample("0.11.0", "server_gone_40s"), sample("0.11.0", "complete")

    assert trusting(whole)
    assert trusting(half)
    assert half["resultTable"]["rows"][0][1] < whole["resultTable"]["rows"][0][1]
    assert point_of(complete.check_answer, half, **WHOLE) == 5


@pytest.mark.parametrize(
    ("field", "point"),
    [
        ("exceptions", 2),
        ("resultTable", 2),
        ("numGroupsLimitReached", 3),
        ("numServersQueried", 4),
        ("numServersResponded", 4),
        ("numSegmentsQueried", 5),
        ("numSegmentsProcessed", 5),
        ("numSegmentsPrunedByServer", 5),
        ("numSegmentsPrunedByBroker", 5),
        ("numSegmentsPrunedInvalid", 5),
        ("numSegmentsPrunedByLimit", 5),
        ("totalDocs", 6),
        ("numConsumingSegmentsQueried", 7),
    ],
)
def test_a_field_that_is_missing_refuses(good, field, point):
    """Nothing is concluded from silence."""
    del good[field]

    assert point_of(complete.check_answer, good, **WHOLE) == point


@pytest.mark.parametrize(
    ("changed", "point"),
    [
        ({"exceptions": [{"errorCode": 305, "message": "words of the store"}]}, 2),
        ({"numGroupsLimitReached": True}, 3),
        ({"maxRowsInJoinReached": True}, 3),
        ({"someLimitOfLaterVersionsReached": True}, 3),
        ({"partialResult": True}, 3),
        ({"groupsTrimmed": True}, 3),
        ({"rlsFiltersApplied": True}, 3),
        ({"materializedViewQueried": "view"}, 3),
        ({"earlyTerminationReasons": ["LIMIT"]}, 3),
        ({"numServersResponded": 1}, 4),
        ({"numServersQueried": 0, "numServersResponded": 0}, 4),
        ({"numSegmentsQueried": 3, "numSegmentsProcessed": 3}, 5),
        ({"numSegmentsProcessed": 3}, 5),
        ({"numSegmentsPrunedByBroker": 1}, 5),
        ({"numSegmentsPrunedInvalid": 1}, 5),
        ({"numSegmentsPrunedByLimit": 1}, 5),
        ({"totalDocs": 99_999}, 6),
        ({"totalDocs": 100_001}, 6),
        ({"numConsumingSegmentsQueried": 1}, 7),
    ],
)
def test_every_sign_of_a_part_refuses(good, changed, point):
    """One field that is not as it must be is enough; none of the store's words is told."""
    with pytest.raises(StoreIncomplete) as caught:
        complete.check_answer({**good, **changed}, **WHOLE)

    assert caught.value.point == point
    assert f"Point {point} of 11" in str(caught.value)
    assert "words of the store" not in str(caught.value)


def test_a_warning_is_no_limit(good):
    """Half of a limit is none, and pruning by servers is accounted for."""
    fine = {**good, "numGroupsWarningLimitReached": True, "numSegmentsProcessed": 1, "numSegmentsPrunedByServer": 3}

    assert point_of(complete.check_answer, fine, **WHOLE) is None


def test_results_are_of_the_columns_that_were_asked_for(good):
    """An estimate has another name or type."""
    right = (["item", "distinctcount(user)"], ["STRING", "INT"])

    assert point_of(complete.check_columns, good, *right) is None
    for names, types in (
        (["item", "distinctcounthll(user)"], right[1]),
        (["distinctcount(user)", "item"], right[1]),
        (right[0], ["STRING", "LONG"]),
    ):
        assert point_of(complete.check_columns, good, names, types) == 8


@pytest.mark.parametrize("version", VERSIONS)
def test_plans_are_those_of_the_statement(version):
    """A lowered LIMIT and a rewritten function show in the first line, in both versions."""
    told = sample(version, "explain")
    root = "BROKER_REDUCE(sort:[distinctcount(user) DESC, item ASC],limit:5)"
    failed = {**told, "exceptions": [{"errorCode": 150}]}

    assert point_of(complete.check_plan, told, root) is None
    assert point_of(complete.check_plan, told, root.replace("5", "6")) == 9
    assert point_of(complete.check_plan, told, root.replace("distinctcount", "distinctcounthll")) == 9
    assert point_of(complete.check_plan, failed, root) == 9
    assert point_of(complete.check_plan, {"exceptions": []}, root) == 9


def test_a_broker_answers_from_the_segments_that_the_controller_lists():
    """All of them by name, none twice, none beside them; one without rows may be missing; and all rows count."""
    segments = {"a": 3, "b": 4, "empty": 0}

    def named(*names, column="$segmentName"):
        schema = {"columnNames": [column], "columnDataTypes": ["STRING"]}
        return {"resultTable": {"dataSchema": schema, "rows": [[name] for name in names]}}

    for fine in (named("a", "b"), named("b", "empty", "a")):
        assert point_of(complete.check_met, 7, fine, segments) is None
    for wrong in (named("a"), named("a", "b", "c"), named("A", "B"), named("a", "b", "b"), named("a", "b", 7), named()):
        assert point_of(complete.check_met, 7, wrong, segments) == 6
    assert [point_of(complete.check_met, n, named("a", "b"), segments) for n in (0, 6, 8)] == [6, 6, 6]
    assert point_of(complete.check_met, 7, named("a", "b", column="name"), segments) == 8


def test_rows_are_as_many_as_there_must_be(good):
    """Neither fewer nor more."""
    assert len(complete.check_rows(good, 5, TYPES)) == 5
    assert [point_of(complete.check_rows, good, n, TYPES) for n in (4, 6)] == [10, 10]


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_are_plain(version):
    """The recorded table is; one that rewrites, hides, prunes or is still written is not."""
    told = sample(version, "controller_table")

    assert point_of(complete.check_table, told) is None
    for broken in (
        {},
        {"REALTIME": told["OFFLINE"]},
        {**told, "REALTIME": told["OFFLINE"]},
        *(
            {"OFFLINE": {**told["OFFLINE"], **more}}
            for more in (
                {"upsertConfig": {"mode": "FULL"}},
                {"dedupConfig": {"dedupEnabled": True}},
                {"query": {"useApproximateFunction": True}},
                {"query": {"expressionOverrideMap": {"a": "b"}}},
                {"routing": {"segmentPrunerTypes": ["partition"]}},
            )
        ),
    ):
        assert point_of(complete.check_table, broken) == 7


def test_the_way_out_of_a_live_table_is_told():
    """An OFFLINE table of what is closed."""
    with pytest.raises(StoreIncomplete, match=r'push what is closed.*snapshot = "day"'):
        complete.check_table({"REALTIME": {}})


@pytest.mark.parametrize("version", VERSIONS)
def test_segments_are_online_where_they_should_be(version):
    """The recorded view, after a server died, is not the ideal state."""
    ideal, half = sample(version, "controller_idealstate")["OFFLINE"], sample(version, "controller_externalview")
    broken = copy.deepcopy(ideal)
    broken["t100k_part0"] = dict.fromkeys(broken["t100k_part0"], "ERROR")

    assert complete.check_online(ideal, ideal) == ideal
    for one, other in ((ideal, half["OFFLINE"]), (broken, broken), ({}, {}), (None, None), ({"a": {}}, {"a": {}})):
        assert point_of(complete.check_online, one, other) == 11


@pytest.mark.parametrize("version", VERSIONS)
def test_servers_have_loaded_what_the_controller_lists(version):
    """By checksum; what a server has beside it does not matter."""
    ideal, crc = sample(version, "controller_idealstate")["OFFLINE"], sample(version, "controller_crc")
    servers = {server for where in ideal.values() for server in where}
    loaded = {server: {**crc, "another": "1"} for server in servers}

    assert point_of(complete.check_loaded, ideal, crc, loaded) is None
    first = next(iter(ideal["t100k_part0"]))
    for broken in ({}, {**loaded, first: {}}, {**loaded, first: {**crc, "t100k_part0": "7"}}):
        assert point_of(complete.check_loaded, ideal, crc, broken) == 11
    assert point_of(complete.check_loaded, ideal, {**crc, "new": "1"}, loaded) == 11


def test_a_change_refuses():
    """Any difference between before and after."""
    assert point_of(complete.check_same, (1, 2), (1, 2)) is None
    assert point_of(complete.check_same, (1, 2), (1, 3)) == 11


def test_limits_leave_no_room_for_trims():
    """Five times the LIMIT is never below the number of groups, whatever is wanted."""
    for groups in (1, 4, 5, 6, 99, 100, 101, 5001, 10**7):
        for wanted in (1, 21, 10**4):
            limit = complete.least_limit(groups, wanted)

            assert limit >= wanted
            assert 5 * limit >= groups
            assert limit == wanted or 5 * (limit - 1) < groups


def test_options_override_the_servers():
    """Both trims off, the single-stage engine, no rewriting of missing values."""
    said = dict(pair.split("=") for pair in complete.options(2.5).split(";"))

    assert said["minServerGroupTrimSize"] == said["minSegmentGroupTrimSize"] == "-1"
    assert (said["useMultistageEngine"], said["enableNullHandling"], said["timeoutMs"]) == ("false", "false", "2500")
