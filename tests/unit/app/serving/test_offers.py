"""Offers: what a declaration becomes, that it leads nowhere else, and how it meets the catalog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hushcount.app.serving.data.enrolling import enrol, join_people
from hushcount.app.serving.data.offers import Offer, keep_offer, kept_offers, make_offer, merged, source_of
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.setup.config import DatasetConfig, StoreConfig
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.engines.pinot.address import parse
from hushcount.errors import InvalidParameter, OtherPerson, UnreadableSource
from tests.unit.app.serving.made_store import made_offer, made_store, write_csv

GIVEN = DatasetConfig(name="events", store="logs", table="events.csv", person="user", items=("item",), people="staff")


@pytest.fixture
def setting(tmp_path):
    """Olga before a ledger of her own."""
    made = make_setting(Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="olga"))
    yield made
    made.close()


def test_an_offer_is_what_was_declared(tmp_path):
    """With its store, and the id that the catalog gave."""
    offer = make_offer(GIVEN, {"logs": made_store(tmp_path)}, dataset="d7")

    assert (offer.id, offer.name, offer.person, offer.items, offer.people) == (
        "d7",
        "events",
        "user",
        ("item",),
        "staff",
    )
    assert offer.snapshot == "none"
    assert source_of(offer) == str(tmp_path / "events.csv")


def test_an_unknown_store_is_refused_with_those_that_there_are(tmp_path):
    """By name."""
    with pytest.raises(InvalidParameter, match="a store of the configuration: logs"):
        make_offer(replace(GIVEN, store="lgos"), {"logs": made_store(tmp_path)})


@pytest.mark.parametrize("table", ["../x.csv", "/etc/passwd", "a/../../x.csv", "", "http://h/x.csv", "a\0.csv"])
@pytest.mark.parametrize("kind", ["files", "spark"])
def test_no_table_leads_out_of_its_store(tmp_path, table, kind):
    """Whatever an owner declares over the network."""
    (tmp_path / "in").mkdir()
    write_csv(tmp_path / "x.csv")

    with pytest.raises(InvalidParameter, match="within the store's place"):
        source_of(made_offer(tmp_path / "in", table, kind=kind))


@pytest.mark.parametrize("table", ["x" * 256, "é" * 200, "a/" * 2_000, "*" * 300])
def test_a_table_is_no_longer_than_a_file_can_be_called(tmp_path, table):
    """Refused as typed, and not as a failure of the system; one that fits is only not there."""
    offer = Offer(
        id="", name="d", store=StoreConfig(name="s", kind="files", place=str(tmp_path)), table=table, person="p"
    )
    fits = replace(offer, table="é" * 127)

    with pytest.raises(InvalidParameter, match="no longer than names of files can be"):
        source_of(offer)
    assert source_of(fits).endswith("é" * 127)


def test_no_link_leads_out_of_its_store(tmp_path):
    """Neither a file nor a folder nor what a pattern finds; a link within is as good as any name."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out.csv").symlink_to(write_csv(tmp_path / "x.csv"))
    (tmp_path / "in" / "folder").symlink_to(tmp_path)
    for table in ("out.csv", "folder/x.csv", "folder", "*.csv"):
        with pytest.raises(InvalidParameter, match="within the store's place"):
            source_of(made_offer(tmp_path / "in", table))
    (tmp_path / "in" / "out.csv").unlink()
    (tmp_path / "in" / "link.csv").symlink_to(write_csv(tmp_path / "in" / "y.csv"))

    assert source_of(made_offer(tmp_path / "in", "link.csv")).endswith("in/link.csv")


def test_a_password_comes_from_its_file_alone(tmp_path):
    """Signs of an address in it mean nothing, and what the address said of one is dropped."""
    (tmp_path / "secret").write_text("p@ss/w:rd\n", encoding="utf-8")
    place = "postgresql://reader:old@db:5433/events"
    offer = made_offer(place, "clicks", kind="postgres", password_file=tmp_path / "secret")

    assert source_of(offer) == "postgresql://reader:p%40ss%2Fw%3Ard@db:5433/events"
    with pytest.raises(UnreadableSource, match="check password_file"):
        source_of(made_offer(place, "clicks", kind="postgres", password_file=tmp_path / "none"))


def test_an_address_of_pinot_names_the_file_of_the_password(tmp_path):
    """And has no password in it; a table must be named."""
    made = made_offer("https://broker:8443", "clicks", kind="pinot", password_file=tmp_path / "secret")
    store = replace(made.store, user="layer", controller="c:9443", ca_file=tmp_path / "ca.pem")

    found = parse(source_of(replace(made, store=store)))

    assert (found.broker.host, found.broker.port, found.table, found.broker.tls) == ("broker", 8443, "clicks", True)
    assert (found.controller.host, found.controller.port) == ("c", 9443)
    assert (found.user, found.password_file, found.ca_file) == ("layer", tmp_path / "secret", tmp_path / "ca.pem")
    assert found.timeout == store.timeout.total_seconds()
    for table, words in ((None, "the name of a table of Pinot"), ("a b", "OFFLINE table")):
        with pytest.raises(InvalidParameter, match=words):
            source_of(replace(made, store=store, table=table))


def test_a_store_without_a_place_is_refused(tmp_path):
    """Before anything is opened."""
    with pytest.raises(InvalidParameter, match="said for the store 'logs'"):
        source_of(replace(made_offer(tmp_path), store=replace(made_store(tmp_path), place=None)))


def test_offers_on_record_come_back_as_they_were(setting, monkeypatch):
    """More than a page of them; the configuration goes before a record of the same name."""
    monkeypatch.setattr("hushcount.app.serving.data.offers._PAGE", 2)
    records = setting.ledger.records
    given = [replace(GIVEN, name=f"e{n}", items=None if n % 2 else ("a", "b")) for n in range(5)]
    for one in given:
        keep_offer(records, one, by="olga")

    assert kept_offers(records) == tuple(given)
    assert merged([replace(GIVEN, name="e0", table="other")], given)["e0"].table == "other"
    assert set(merged([GIVEN], given)) == {"events", "e0", "e1", "e2", "e3", "e4"}


def test_an_offer_is_enrolled_once(tmp_path, setting):
    """Its data is read the first time only: afterwards the catalog knows it by its name."""
    path = write_csv(tmp_path / "events.csv")
    stores = Stores()
    offer = enrol(made_offer(tmp_path), stores, setting)
    path.unlink()
    again = enrol(made_offer(tmp_path), stores, setting)
    stores.close()

    assert offer.id == again.id == setting.catalog.find("events", by=setting.analyst).id
    assert setting.catalog.find("events", by=setting.analyst).person == "user"


def test_a_file_whose_person_nobody_said_pins_none(tmp_path, setting):
    """The first question does."""
    write_csv(tmp_path / "events.csv")
    stores = Stores()
    enrol(replace(made_offer(tmp_path), person=""), stores, setting)
    stores.close()

    assert setting.catalog.find("events", by=setting.analyst).person is None


def test_data_that_is_known_keeps_its_person(tmp_path, setting):
    """Under another name and by another column: refused."""
    write_csv(tmp_path / "events.csv")
    stores = Stores()
    enrol(made_offer(tmp_path), stores, setting)
    other = replace(made_offer(tmp_path), name="again", person="item")
    with pytest.raises(OtherPerson):
        enrol(other, stores, setting)
    stores.close()


def test_offers_about_the_same_people_share_a_population(tmp_path, setting):
    """Joined once; the second time nothing is to do."""
    stores, offers = Stores(), []
    for name, people in (("a", "staff"), ("b", "staff"), ("c", None)):
        write_csv(tmp_path / f"{name}.csv", tag=name)
        offer = replace(made_offer(tmp_path, f"{name}.csv"), name=name, people=people)
        offers.append(enrol(offer, stores, setting))
    join_people(offers, setting)
    join_people(offers, setting)
    stores.close()
    populations = [setting.catalog.find(name, by=setting.analyst).population for name in "abc"]

    assert populations[0] == populations[1] != populations[2]
