"""The catalog: data is known by any of its identities, a person by one column, and both for good; on every store."""

from __future__ import annotations

import pytest

from hushcount.errors import (
    BudgetExhausted,
    InvalidParameter,
    NotPermitted,
    OtherPerson,
    SeveralDatasets,
    UnknownDataset,
)
from hushcount.ledger.catalog import ColumnFacts
from hushcount.ledger.ledger import EVERY, Page, Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.model.identities import Identity, Sighting
from tests.conformance.ledgers.stores import OWNER, answered, ask, dataset, sighting


def register(ledger, seen: Sighting, *, person="user", name=None, by="ann"):
    """The data set that a sighting is registered as."""
    return ledger.catalog.register(seen, person=person, name=name, by=by).dataset


def entries(ledger, entity: str = EVERY) -> list:
    """The log of a book."""
    return list(ledger.history(Page(entity=entity, size=1000), by=OWNER))


def test_new_data_gets_a_name_a_population_and_a_person(ledger, clock):
    """The title becomes the name, with a number if it is taken; the population is called like the data set."""
    first = ledger.catalog.register(sighting("b1", title="events"), person="user", name=None, by="ann")
    second = ledger.catalog.register(sighting("b2", title="events"), person="uid", name=None, by="bob")

    assert (first.new, second.new) == (True, True)
    assert (first.dataset.id, first.dataset.name, first.dataset.population) == ("events", "events", "events")
    assert (second.dataset.id, second.dataset.name, second.dataset.person) == ("events-2", "events-2", "uid")
    assert (first.dataset.by, first.dataset.made) == ("ann", clock.now)
    assert not ledger.verify().problems


def test_data_is_known_by_any_identity_and_gathers_more(ledger):
    """A copy is known by its bytes, a changed file by its path, and what the copy becomes by the copy's path."""
    register(ledger, sighting("p1", "b1"))
    ways = [("p1", "b2"), ("p9", "b1"), ("p9", "b3"), ("p7", "b3")]
    found = [ledger.catalog.register(sighting(*way), person="user", name=None, by="ann") for way in ways]

    assert {registered.dataset.id for registered in found} == {"data"}
    assert not any(registered.new for registered in found)
    assert {str(i) for i in ledger.catalog.find("data", by=OWNER).identities} == {
        "bytes:p1", "bytes:b1", "bytes:b2", "bytes:p9", "bytes:b3", "bytes:p7",
    }  # fmt: skip


def test_looking_up_changes_nothing(ledger):
    """A lookup tells what data is, or that nobody knows it, and binds nothing."""
    register(ledger, sighting("b1"))
    before = ledger.verify().heads

    assert ledger.catalog.lookup(sighting("b9")) is None
    assert ledger.catalog.lookup(sighting("b1", "b2")).id == "data"
    assert ledger.catalog.lookup(sighting("b2")) is None
    assert ledger.verify().heads == before


def test_what_is_known_in_full_is_not_written_again(ledger):
    """Registering the same sighting again leaves no entry, so that a question to known data waits for nobody."""
    register(ledger, sighting("b1", "p1"))
    before = ledger.verify().heads
    again = ledger.catalog.register(sighting("p1", "b1"), person="user", name=None, by="bob")

    assert not again.new
    assert ledger.verify().heads == before


def test_a_refusal_binds_identities_like_an_answer(ledger):
    """Data whose question was refused is known by everything that it was met under, so no other name is a way in."""
    ledger.set_limit(dataset(EVERY), rho_limit("0.05", "0.1"), by=OWNER)
    first = register(ledger, sighting("p1", "b1"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("q", dataset=first.id))
    other = register(ledger, sighting("p2", "b1"), name="something else")

    assert other.id == first.id
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("r", dataset=other.id))


def test_a_limit_on_data_that_nobody_asked_binds(ledger):
    """Registered without a person, data takes a limit; the first question pins who a person is and meets the limit."""
    made = register(ledger, sighting("p1"), person=None, by=OWNER)
    ledger.set_limit(dataset(made.population), rho_limit("0.01", "0.1"), by=OWNER)
    asked = register(ledger, sighting("p2", "p1"), person="user")
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("q", dataset=asked.id))

    assert (made.person, asked.person) == (None, "user")


def test_an_unregistered_data_set_cannot_be_asked(ledger):
    """A question names a registered data set; what a new one would have can be looked at."""
    with pytest.raises(UnknownDataset):
        ledger.reserve(ask("q", dataset="nowhere"))

    assert ledger.check(ask("q", dataset="nowhere")).refusal is None


def test_the_person_column_is_pinned(ledger):
    """Another column is refused with the pinned one and the owner's command; binding nothing, also for its copies."""
    register(ledger, sighting("b1", title="events"), person="user id")
    with pytest.raises(OtherPerson, match="'user id' says who a person is, not 'row_no'") as caught:
        register(ledger, sighting("b1", "b2"), person="row_no")

    assert "Nothing was charged" in str(caught.value)
    assert (caught.value.dataset, caught.value.pinned, caught.value.asked) == ("events", "user id", "row_no")
    assert "Nothing was charged" in str(caught.value)
    assert ledger.catalog.lookup(sighting("b2")) is None


def test_an_owner_repins(ledger):
    """Only an owner changes who a person is, on record; then the old column is the other one."""
    register(ledger, sighting("b1", title="events"))
    with pytest.raises(NotPermitted):
        ledger.catalog.repin("events", "uid", by="ann")
    changed = ledger.catalog.repin("events", "uid", by=OWNER)
    with pytest.raises(OtherPerson):
        register(ledger, sighting("b1"), person="user")

    assert changed.person == register(ledger, sighting("b1"), person="uid").person == "uid"
    assert [(e.by, e.body["person"]) for e in entries(ledger) if e.kind == "repin"] == [(OWNER, "uid")]
    assert not ledger.verify().problems


def test_several_data_sets_are_refused_with_the_words_to_type(ledger):
    """A glob over data of two populations is refused; joined, it is one question to one account."""
    register(ledger, sighting("w1", title="week 1"))
    register(ledger, sighting("w2", title="week2"))
    both = sighting("w1", "w2", "all", title="weeks")
    with pytest.raises(SeveralDatasets, match="'week 1', 'week2'") as caught:
        register(ledger, both)
    with pytest.raises(SeveralDatasets):
        ledger.catalog.lookup(both)
    ledger.catalog.join("week 1", "week2", by=OWNER)
    found = register(ledger, both)

    assert "hushcount catalog join 'week 1' week2" in str(caught.value)
    assert found.population == "week 1"
    assert ledger.catalog.lookup(sighting("all")).id == "week 1"
    assert ledger.catalog.lookup(sighting("w2")).id == "week2"


def test_joined_data_sets_keep_their_own_pins(ledger):
    """Data of two data sets is asked with a column that both have pinned."""
    register(ledger, sighting("w1", title="week1"), person="user")
    register(ledger, sighting("w2", title="week2"), person="uid")
    ledger.catalog.join("week1", "week2", by=OWNER)
    with pytest.raises(OtherPerson):
        register(ledger, sighting("w1", "w2"), person="user")

    assert register(ledger, sighting("w2"), person="uid").id == "week2"


def test_a_declared_name_is_in_addition(ledger):
    """A name that nobody has is one more identity of known data; new data takes the name as its own."""
    first = register(ledger, sighting("b1"), name="sales")
    alias = register(ledger, sighting("b1"), name="turnover")
    later = register(ledger, sighting("b7"), name="turnover")

    assert (first.id, first.name) == ("sales", "sales")
    assert alias.id == later.id == ledger.catalog.find("turnover", by=OWNER).id == "sales"
    assert ledger.catalog.lookup(sighting("b7")).id == "sales"


def test_a_declared_name_is_never_instead(ledger):
    """Known data under the name of other data is refused: neither the one nor the other budget is charged alone."""
    register(ledger, sighting("b1"), name="sales")
    register(ledger, sighting("b2"), name="returns")
    with pytest.raises(SeveralDatasets, match="'returns', 'sales'"):
        register(ledger, sighting("b1"), name="returns")

    assert ledger.catalog.lookup(sighting("b1")).id == "sales"


def test_data_without_any_identity_needs_a_name(ledger):
    """What could not be recognised the next time would have a new budget each time, so it is refused."""
    with pytest.raises(InvalidParameter, match="recognisable"):
        register(ledger, sighting())

    assert register(ledger, sighting(), name="frame").id == register(ledger, sighting(), name="frame").id


def test_an_inode_finds_data_only_while_it_is_shared(ledger):
    """A number of an inode that was given to another file belongs to the data that was met last under it."""
    inode, path = Identity(kind="inode", value="1:5"), Identity(kind="path", value="/a")
    other = Identity(kind="path", value="/b")
    first = register(ledger, Sighting(title="a", finds=(path,), binds=(path, inode)))
    linked = register(ledger, Sighting(title="l", finds=(other, inode), binds=(other, inode)))
    reused = register(
        ledger, Sighting(title="b", finds=(Identity(kind="path", value="/c"),), binds=(inode,)), name="new file"
    )
    later = register(ledger, Sighting(title="c", finds=(inode,), binds=(inode,)))

    assert first.id == linked.id
    assert reused.id == later.id == "new file"
    assert not ledger.verify().problems


def test_unknown_names_are_told_with_the_nearest(ledger):
    """A typo is answered with the nearest name."""
    register(ledger, sighting("b1", title="purchases"))

    with pytest.raises(UnknownDataset, match="Did you mean 'purchases'"):
        ledger.catalog.find("purchase", by=OWNER)


def test_a_renamed_data_set_is_found_by_both_names(ledger):
    """A new name is on record, the old one stays known and cannot be taken by other data; the id never changes."""
    register(ledger, sighting("b1", title="events"))
    renamed = ledger.catalog.rename("events", "purchases", by=OWNER)
    other = register(ledger, sighting("b2", title="events"))
    for bad in ("events-2", "a\x00b", EVERY):
        with pytest.raises(InvalidParameter):
            ledger.catalog.rename("purchases", bad, by=OWNER)
    with pytest.raises(NotPermitted):
        ledger.catalog.rename("purchases", "mine", by="ann")

    assert (renamed.id, renamed.name) == ("events", "purchases")
    assert ledger.catalog.find("events", by=OWNER).id == ledger.catalog.find("purchases", by=OWNER).id == "events"
    assert other.name == "events-2"
    assert ledger.catalog.rename("purchases", "events", by=OWNER).name == "events"
    assert not ledger.verify().problems


def test_facts_are_declared_by_column(ledger):
    """An owner declares and takes back what is public about a column; bounds are checked."""
    register(ledger, sighting("b1", title="events"))
    page = ColumnFacts(max_items=3, per_item_cap=1, public_items=("a", "b"))
    ledger.catalog.declare("events", {"page": page, "day": ColumnFacts(max_items=7)}, by=OWNER)
    ledger.catalog.declare("events", {"day": ColumnFacts()}, by=OWNER)
    with pytest.raises(InvalidParameter):
        ledger.catalog.declare("events", {"page": ColumnFacts(max_items=0)}, by=OWNER)
    with pytest.raises(NotPermitted):
        ledger.catalog.declare("events", {"page": ColumnFacts()}, by="ann")

    assert ledger.catalog.find("events", by=OWNER).facts == {"page": page}
    assert not ledger.verify().problems


def test_analysts_see_names_and_owners_everything(ledger):
    """All see which data sets there are; by what they are known is for owners and auditors."""
    ledger.grant("ada", "auditor", by=OWNER)
    register(ledger, sighting("b1", title="events"))
    seen = {name: {d.name: d.identities for d in ledger.catalog.datasets(by=name)} for name in ("ann", "ada", OWNER)}

    assert set(seen["ann"]) == set(seen["ada"]) == {"clicks", "events", "visits"}
    assert seen["ann"]["events"] == ()
    assert [str(i) for i in seen["ada"]["events"]] == [str(i) for i in seen[OWNER]["events"]] == ["bytes:b1"]


def test_a_name_leads_an_analyst_to_no_identity(ledger):
    """Found by name, a data set shows where it lies to owners and auditors, also of it alone, and to nobody else.

    Before, `find` gave paths and digests to whoever knew a name.
    """
    ledger.grant("ada", "auditor", by=OWNER)
    ledger.grant("oscar", "owner", by=OWNER, entity="visits")
    register(ledger, sighting("b1", title="events"))
    known_by = {name: ledger.catalog.find("events", by=name).identities for name in ("ann", "oscar", "ada", OWNER)}

    assert known_by["ann"] == known_by["oscar"] == ()
    assert [str(i) for i in known_by["ada"]] == [str(i) for i in known_by[OWNER]] == ["bytes:b1"]
    assert ledger.catalog.find("visits", by="oscar").identities


ADDRESS = "postgresql://ann:hunter2@db:5432/sales?password=hunter2"


@pytest.mark.parametrize(
    "deed",
    [
        lambda ledger: register(ledger, sighting("b1"), name=ADDRESS),
        lambda ledger: ledger.catalog.rename("visits", ADDRESS, by=OWNER),
        lambda ledger: ledger.grant(ADDRESS, "owner", by=OWNER),
        lambda ledger: ledger.enroll(ADDRESS, "team", by=OWNER),
        lambda ledger: ledger.reserve(ask("q", dataset=ADDRESS)),
        lambda ledger: ledger.reserve(ask(ADDRESS)),
    ],
)
def test_passwords_are_refused_at_the_door(ledger, deed):
    """An address with a user, a password or parameters is no name, and the refusal does not repeat it."""
    with pytest.raises(InvalidParameter) as caught:
        deed(ledger)

    assert "hunter2" not in str(caught.value)


def test_passwords_are_stripped_from_what_is_found(ledger, store):
    """In titles, identities and words an address is cut down to where it points, before anything is stored."""
    seen = sighting(ADDRESS, title=ADDRESS, kind="table")
    made = register(ledger, seen)
    answered(ledger, ask("q", dataset=made.id, what=f"count of {ADDRESS}"))
    database = store.database()
    with database.reading() as rows:
        kept = repr([rows.fetch(f"SELECT * FROM {table}") for table in ("log", "datasets", "identities", "asks")])  # noqa: S608
    database.close()

    assert made.name == "postgresql://db:5432/sales"
    assert register(ledger, sighting(ADDRESS.replace("ann:hunter2", "bob:x"), kind="table")).id == made.id
    assert "hunter2" not in kept


def test_what_cannot_be_indexed_is_known_by_its_digest(ledger):
    """Paths of any length and with any sign are identities."""
    odd = ["/" + "x" * 5000, "/a\nb", "/\udcff", "/a\x00b"]
    made = [register(ledger, sighting(path, title=path, kind="path")) for path in odd]

    assert len({d.id for d in made}) == 4
    assert [ledger.catalog.lookup(sighting(path, kind="path")).id for path in odd] == [d.id for d in made]
    assert not ledger.verify().problems


def test_a_free_retry_on_changed_data_leaves_the_ledger_whole(ledger):
    """Under its key an answer is given again for free after the data changed, and `verify` has nothing to say.

    Before, the retry bound the new version to the book in a row that had no entry in the log, and `verify` spoke of
    tampering ever after.
    """
    register(ledger, sighting("p1", "b1", title="events"))
    answered(ledger, ask("k", dataset="events", version="b1"), b"paid")
    register(ledger, sighting("p1", "b2", title="events"))
    again = ledger.reserve(ask("k", dataset="events", version="b2"))

    assert (again.payload, again.charged.rho) == (b"paid", 0)
    assert ledger.verify().problems == ()
    assert isinstance(ledger.reserve(ask("new", dataset="events", version="b2")), Reservation)
    assert ledger.verify().problems == ()
