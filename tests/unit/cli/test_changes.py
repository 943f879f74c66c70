"""The one change that an answer names: what it would show, and its price; and rows that are told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hushcount
from hushcount.cli.changes import one_change
from hushcount.cli.render import show_release

SAID = {"out": None, "as_json": False, "quiet": False, "rows": 200}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The sample log."""
    return hushcount.sample_log(tmp_path_factory.mktemp("log") / "log.parquet", readers=3000)


def asked(log, verb="count", **options):
    """An answer, and the options as the command line has them."""
    item = {} if verb == "people" else {"item": "article"}
    release = getattr(hushcount, verb)(log, user="reader", ledger=False, **item, **options)
    return release, SAID | options


def test_more_rows_for_a_larger_preset(log):
    """Down to where, and for how much; nothing beyond the largest, nor where an exact amount was typed."""
    assert one_change(*asked(log))[0].startswith("--preset generous would go down to about ")
    assert one_change(*asked(log))[0].endswith(" instead, for 5 standard releases.")
    assert one_change(*asked(log, error="20%"))[0].startswith("--preset generous would go down to about ")
    assert one_change(*asked(log, preset="generous")) == []
    assert one_change(*asked(log, rho="0.1")) == []


def test_sharper_rows_where_all_are_shown(log):
    """Half of an interval as it is and as it would be."""
    release, given = asked(log, "people")
    width = int(release.high[0] - release.counts[0])
    said = f"right to about {round(width / 5**0.5)} people instead of {width}, for 5 standard releases."

    assert one_change(release, given) == [f"--preset generous would be {said}"]
    assert "people instead of" in one_change(*asked(log, "top", k=3))[0]


def test_nothing_is_sharper_than_one_person(log):
    """No change is named where a row is as sharp as can be."""
    release, given = asked(log, "people")

    assert one_change(replace(release, high=release.counts + 1), given) == []
    assert one_change(replace(release, counts=None), given) == []


def test_twice_as_sharp_costs_four_times_as_much(log):
    """Of a wanted number of people."""
    release, given = asked(log, "people", error=20)
    price = 4 * float(release.receipt.rho) / 0.1

    assert one_change(release, given) == [f"--error 10 would be twice as sharp, for {price:.2g} standard releases."]


def test_a_bound_that_was_typed_can_be_left_out(log):
    """For the true numbers."""
    assert "leave out --max-items-per-user" in one_change(*asked(log, max_items_per_user=2))[0]


def test_rows_that_are_wider_than_asked_are_marked(log, capsys):
    """In a column of their own, only if there are any."""
    show_release(*asked(log, max_items_per_user=2, error=20))
    marked = capsys.readouterr().out
    show_release(*asked(log, max_items_per_user=2))
    plain = capsys.readouterr().out

    assert "as asked" in marked.splitlines()[0]
    assert {line.split()[-1] for line in marked.split("\n\n")[0].splitlines()[1:]} == {"yes", "wider"}
    assert "The others are wider." in marked
    assert "as asked" not in plain


def test_an_error_that_nothing_meets_comes_first(log, capsys):
    """Before spelling and dates."""
    show_release(*asked(log, error="0.01%"))
    told = capsys.readouterr().out

    assert told.index("A larger --error shows more") < told.index("Spelling and case")
    assert "nothing could be counted so well. For this price a row needs 40,000 people or more." in told
    assert "--preset generous would show rows of 20,000 people or more at best, for 5 standard releases." in told
    assert "unlikely to be shown" not in told


def test_a_table_without_rows_says_nothing_of_ends(log, capsys):
    """There are none: only why, and what to look at first."""
    show_release(*asked(log, where="article = 'no such thing'"))
    told = capsys.readouterr().out

    assert "Nothing could be shown" in told
    assert "A larger --error" not in told
    assert "with 95 % probability" not in told
    assert "one by one" not in told
