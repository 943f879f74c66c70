"""Records: small documents whose every change is in the chain, on every store."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from hushcount.errors import InvalidParameter, Outdated
from hushcount.ledger.book import rule_book
from hushcount.ledger.ledger import EVERY, Page
from hushcount.ledger.windows import micros
from tests.conformance.ledgers.stores import OWNER, START

BODY = {"scopes": ["ask"], "cap": "2.5", "names": {"a": 1, "b": None}}


def put(ledger, name="t_1", body=BODY, **changes):
    """A token of Ann's."""
    return ledger.records.put("token", name, body, **{"owner": "ann", "by": "ann", **changes})


def test_what_was_put_is_found(ledger, clock):
    """A record comes back as it was written, with its edition and its times, also to another process."""
    first = put(ledger)
    clock.forward(hours=1)
    second = put(ledger, body={**BODY, "cap": "1"}, owner="bob")

    assert (first.kind, first.id, first.owner, first.body, first.edition) == ("token", "t_1", "ann", BODY, 1)
    assert (first.made, first.changed) == (START, START)
    assert (second.edition, second.made, second.changed) == (2, START, START + timedelta(hours=1))
    assert (second.owner, second.body["cap"]) == ("bob", "1")
    assert ledger.records.find("token", "t_1") == second
    assert ledger.records.find("wish", "t_1") is None
    assert ledger.verify().problems == ()


def test_a_record_is_removed_and_may_come_back(ledger):
    """Removing twice does nothing; a record that comes back is new."""
    put(ledger)
    gone = [put(ledger, body=None), put(ledger, body=None)]
    entries = len(ledger.history(Page(entity=EVERY), by=OWNER))
    put(ledger, body=None)

    assert gone == [None, None]
    assert len(ledger.history(Page(entity=EVERY), by=OWNER)) == entries
    assert ledger.records.find("token", "t_1") is None
    assert put(ledger).edition == 1
    assert ledger.verify().problems == ()


def test_who_read_an_older_edition_is_refused(ledger):
    """An edition that is not the present one is refused, whichever way; nothing is written."""
    put(ledger, edition=0)
    put(ledger, edition=1)
    before = ledger.verify().heads
    for edition, body in ((0, BODY), (1, BODY), (3, BODY), (1, None)):
        with pytest.raises(Outdated, match="somebody else was first") as failure:
            put(ledger, body=body, edition=edition)
        assert failure.value.present == 2
    with pytest.raises(Outdated, match="there is none"):
        put(ledger, "t_2", body=None, edition=1)

    assert ledger.verify().heads == before


def test_of_many_at_once_one_makes_it(ledger, store):
    """Eight who all say that it must be new: one makes it, seven are told."""
    ledgers, outcomes = [store.open() for _ in range(8)], []

    def make(number: int) -> None:
        try:
            outcomes.append(put(ledgers[number], body={"by": number}, edition=0).edition)
        except Outdated:
            outcomes.append("outdated")

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(str, outcomes)) == ["1", *["outdated"] * 7]
    assert ledger.verify().problems == ()


def test_pages_go_by_id(ledger):
    """A page begins after an id and is of one kind, and of one owner if that is said."""
    for number in range(5):
        put(ledger, f"t_{number}", owner="ann" if number % 2 else "bob")
    ledger.records.put("wish", "t_9", {}, owner="ann", by="ann")
    first = ledger.records.page("token", size=2)
    rest = ledger.records.page("token", after=first[-1].id)

    assert [record.id for record in (*first, *rest)] == [f"t_{number}" for number in range(5)]
    assert [record.id for record in ledger.records.page("token", owner="ann")] == ["t_1", "t_3"]
    assert ledger.records.page("token", after="t_4") == ()
    with pytest.raises(InvalidParameter):
        ledger.records.page("token", size=0)


def test_every_change_is_in_the_log(ledger):
    """Who wrote what and when is an entry of the book of rules; a removal, too."""
    put(ledger, by="ann")
    put(ledger, body=None, by=OWNER)
    made, gone = (e for e in ledger.history(Page(entity=EVERY), by=OWNER) if e.kind == "record")

    assert (made.by, made.at, made.body["record"], made.body["content"]) == ("ann", START, ["token", "t_1"], BODY)
    assert (gone.by, gone.body["content"], gone.body["edition"]) == (OWNER, None, 2)


@pytest.mark.parametrize(
    "body", [{"a": float("nan")}, {"a": object()}, [1], "text", {"a": "x" * 5_000_000}], ids=lambda body: str(body)[:20]
)
def test_what_is_no_small_json_is_refused(ledger, body):
    """Only an object of JSON can be kept."""
    with pytest.raises(InvalidParameter):
        put(ledger, body=body)


def test_keys_that_are_no_text_and_odd_letters_replay(ledger):
    """Whatever JSON makes of a body is what is kept, so that the replay says the same."""
    kept = put(ledger, body={2: "two", 10: "ten", "z": "\x00\ud800 é", "f": 0.1}).body

    assert kept == {"2": "two", "10": "ten", "z": "\x00\ud800 é", "f": 0.1}
    assert ledger.records.find("token", "t_1").body == kept
    assert ledger.verify().problems == ()


@pytest.mark.parametrize(("kind", "name"), [("*", "x"), ("", "x"), ("token", ""), ("token", "a\nb")])
def test_names_are_checked(ledger, kind, name):
    """A kind is never everything; an id may be, for a freeze."""
    with pytest.raises(InvalidParameter):
        ledger.records.put(kind, name, {}, owner="ann", by="ann")

    assert ledger.records.put("freeze", EVERY, {}, owner="ann", by="ann").id == EVERY


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE records SET body = '{}'",
        "UPDATE records SET owner = 'eve'",
        "UPDATE records SET edition = 7",
        "UPDATE records SET changed = changed + 1",
        "DELETE FROM records",
        "INSERT INTO records (kind, id, owner, body, edition, made, changed) VALUES ('token', 'x', 'e', '{}', 1, 1, 1)",
    ],
)
def test_an_edit_of_the_table_is_found(ledger, store, edit):
    """The table is what the log says, or `verify` tells."""
    put(ledger)
    database = store.database()
    with database.writing() as rows:
        rows.write([(edit, ())])
    database.close()

    assert any("table records" in problem for problem in ledger.verify().problems)


def test_a_skipped_edition_in_the_log_is_found(ledger, store, clock):
    """An entry that does not follow on the one before it was made up."""
    put(ledger)
    database = store.database()
    with database.writing() as rows:
        book = rule_book(rows)
        book.append("record", "eve", record=["token", "t_1"], owner="eve", content={}, edition=5)
        book.do("UPDATE records SET owner = 'eve', body = '{}', edition = 5, changed = ?", micros(clock.now))
        book.flush()
    database.close()

    assert any("edition of the token 't_1' is missing" in problem for problem in ledger.verify().problems)
