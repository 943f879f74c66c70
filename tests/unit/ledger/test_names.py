"""Names at the door: addresses lose what must not be kept, and every identity has one text that any store can index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.errors import InvalidParameter
from hushcount.ledger.addresses import redact
from hushcount.ledger.names import identity_from, identity_text, named, titled, unique
from hushcount.model.identities import Identity


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("postgresql://ann:hunter2@db:5432/sales?options=-c%20timezone=UTC", "postgresql://db:5432/sales"),
        ("postgres://ann@db/sales", "postgres://db/sales"),
        ("postgresql:///sales?host=/tmp&password=hunter2", "postgresql:///sales"),
        ("postgresql://ann:hun?ter2@db/sales", "postgresql://db/sales"),
        ("postgresql://ann:hun ter2@db/sales", "postgresql://db/sales"),
        ("postgresql://ann:h@nter2@db/sales", "postgresql://db/sales"),
        ("postgresql://ann:hun/ter2@db/sales", "postgresql://db/sales"),
        ("https://host/file.csv?token=hunter2#part", "https://host/file.csv"),
        ("count of 'postgresql://a:hunter2@b/c' per day", "count of 'postgresql://b/c' per day"),
        ("/srv/data/a@b.csv", "/srv/data/a@b.csv"),
        ("what? nothing: here", "what? nothing: here"),
        ("https://host/file.csv", "https://host/file.csv"),
    ],
)
def test_addresses_lose_user_password_and_parameters(typed, kept):
    """Where an address points stays, whatever else it holds goes, also in the middle of a text; others stay as is."""
    assert redact(typed) == kept
    assert "hunter2" not in redact(typed)


WORDS = st.text("ab:/@?#. '", max_size=12)


@given(WORDS, st.text("abc1!-_.", min_size=4, max_size=8), WORDS)
def test_no_password_survives(before, password, after):
    """Whatever stands around it, a password in an address is not in the text that is kept."""
    text = f"{before}postgresql://u:{password}XX@h/{after}"

    assert f"{password}XX" not in redact(text)
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize("bad", ["", "*", "a\nb", "a\x00b", "\ud800", "x://u:p@h", "x://h?p=1"])
def test_what_is_no_name(bad):
    """Empty, wild, unprintable and telling names are refused, without saying what they told."""
    with pytest.raises(InvalidParameter) as caught:
        named("name", bad)

    assert "u:p" not in str(caught.value)


@given(st.text(max_size=1200))
def test_every_identity_has_a_text_that_can_be_kept(value):
    """Any value becomes a printable text of bounded length; different values have different texts."""
    text = identity_text(Identity(kind="path", value=value))

    assert text.isprintable()
    assert len(text) <= 1010
    assert identity_text(identity_from(text)) == text
    if "://" not in value:
        assert text != identity_text(Identity(kind="path", value=value + "x"))


def test_kinds_do_not_meet():
    """A name that looks like a path is not that path."""
    assert identity_text(Identity(kind="name", value="/a")) != identity_text(Identity(kind="path", value="/a"))


@given(st.text(max_size=200))
def test_a_title_becomes_a_name(title):
    """Whatever a file is called, its data set has a name that can stand in the ledger."""
    assert named("name", titled(title)) == titled(title)


def test_names_are_made_unique():
    """The first free number is taken."""
    assert unique("events", ()) == "events"
    assert unique("events", {"events", "events-2"}) == "events-3"
