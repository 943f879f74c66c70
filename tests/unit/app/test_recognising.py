"""Recognising: which data set it is, what is remembered of it, and which declared facts a question takes up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from hushcount.app.answer import Asking, answer
from hushcount.app.catalog import report
from hushcount.app.paths import paths_of
from hushcount.app.recognising import by_name, sight, with_facts
from hushcount.app.request import make_request
from hushcount.app.setting import Places
from hushcount.app.wiring import make_setting
from hushcount.errors import OtherPerson, SeveralDatasets, UnreadableSource
from hushcount.ledger.catalog import ColumnFacts
from tests.unit.app.made_engine import made_engine


@pytest.fixture
def setting(tmp_path):
    """Ann before a ledger of her own."""
    made = make_setting(Places(home=tmp_path / "home", ledger=str(tmp_path / "ledger.sqlite"), analyst="ann"))
    yield made
    made.close()


def ask(setting, engine=None, *, user="user", dataset=None, note=lambda _: None, **options):
    """One paid count."""
    request = make_request("count", user=user, item="item", options={"rho": "0.001", "delta": "1e-8", **options})
    return answer(request, engine or made_engine(), setting, call=Asking(dataset=dataset, note=note))


def populations(setting):
    """How many budgets there are."""
    return len({line.dataset.population for line in report(setting)})


def test_the_first_question_registers_and_says_so_once(setting):
    """One line that names the data set and who a person is; the second question says nothing."""
    notes = []
    ask(setting, note=notes.append)
    ask(setting, fresh=True, note=notes.append)

    assert notes == ["Registered as data set 'made': a person is who stands in column 'user'."]


def test_rows_are_read_once_for_each_version(setting):
    """The whole pass that recognises rows, and finds what cannot be parsed, is made for versions never seen."""
    engine, seen = made_engine(), []
    engine.rows_identity = lambda key, whole=engine.rows_identity: seen.append(engine.version) or whole(key)
    ask(setting, engine)
    ask(setting, engine, fresh=True)
    engine.version = "v2"
    ask(setting, engine)

    assert seen == ["v1", "v2"]


def test_what_cannot_be_parsed_costs_nothing(setting):
    """A file that breaks in its last row is refused before it is registered or charged."""
    engine = made_engine()

    def breaks(key):
        raise UnreadableSource("it breaks")

    engine.rows_identity = breaks
    with pytest.raises(UnreadableSource):
        ask(setting, engine)

    assert report(setting) == ()
    assert engine.reads == []


def test_the_person_is_pinned_and_a_refusal_costs_nothing(setting):
    """Another column as the person is refused before anything is held."""
    ask(setting)
    before = report(setting)[0].balance

    with pytest.raises(OtherPerson, match="Nothing was charged"):
        ask(setting, user="session")

    assert report(setting)[0].balance == before


def test_data_of_two_data_sets_is_refused_until_they_are_joined(setting):
    """Known by its table as one and by its rows as another: the text has the command, and then it is answered."""
    one, two = made_engine(), made_engine()
    two.name, two.version = "two", "v2"
    ask(setting, one)
    ask(setting, two)
    both = made_engine()
    both.name, both.version, both.rows_identity = "two", "v3", one.rows_identity
    with pytest.raises(SeveralDatasets, match="hushcount catalog join"):
        ask(setting, both)

    setting.catalog.join("made", "two", by="ann")
    ask(setting, both)

    assert populations(setting) == 1


def test_a_declared_name_is_in_addition_and_never_instead(setting):
    """Data that is known is not renamed by whoever asks; new data can be said to belong to what is known."""
    ask(setting)
    other = made_engine()
    other.name, other.version = "other", "v9"
    ask(setting, other, dataset="made")

    assert populations(setting) == 1
    ask(setting, made_engine(), dataset="a new name")
    assert populations(setting) == 1


def test_facts_of_the_catalog_are_taken_up_where_nothing_was_said(setting):
    """A declared bound decides mechanism and price; a question that says otherwise goes first."""
    ask(setting)
    facts = ColumnFacts(max_items=1, public_items=("item-0", "item-1"))
    dataset = setting.catalog.declare("made", {"item": facts}, by="ann")
    plain = make_request("count", user="user", item="item", options={})
    said = make_request("count", user="user", item="item", options={"max_items_per_user": 5})
    named = make_request("vocab", user="user", item="item", options={"method": "sips"})

    assert with_facts(plain, dataset).facts.max_items == 1
    assert with_facts(plain, dataset).facts.public_items.tolist() == ["item-0", "item-1"]
    assert with_facts(said, dataset).facts.max_items == 5
    assert with_facts(named, dataset).facts.public_items is None
    assert with_facts(plain, None) == plain
    top = make_request("top", user="user", item="item", options={"k": 2})
    assert with_facts(top, dataset).facts.max_items is None
    assert ask(setting, fresh=True).receipt.mechanism == "known-gaussian"


def test_sixteen_threads_meet_new_data_at_once(setting):
    """One data set, one answer, charged once for all; each asks with the shared setting."""
    start, engine = threading.Barrier(16), made_engine()

    def one() -> bytes:
        start.wait()
        return ask(setting, engine).to_bytes()

    with ThreadPoolExecutor(16) as pool:
        answers = {future.result() for future in [pool.submit(one) for _ in range(16)]}

    assert len(answers) == 1
    assert len(report(setting)) == 1
    assert setting.ledger.verify().problems == ()


def test_names_alone_find_data_without_reading_it(setting, tmp_path):
    """By its name in the catalog; a path that nobody met is unknown."""
    ask(setting)

    assert by_name(None, setting, "made").name == "made"
    assert by_name("made", setting).name == "made"
    assert by_name(str(tmp_path / "nowhere.csv"), setting) is None


def test_paths_of_what_is_no_file(tmp_path):
    """Patterns and folders name their files, resolved; frames and addresses none."""
    file = tmp_path / "a.csv"
    file.touch()

    assert paths_of(str(tmp_path / "*.csv")) == paths_of(tmp_path) == paths_of(file) == [file.resolve()]
    assert paths_of(object()) == paths_of("postgresql://host/db") == []


def test_without_a_ledger_only_the_version_is_looked_at(setting):
    """Nothing is registered where nobody keeps count."""
    seen = sight(made_engine(), replace(setting, ledger=None))

    assert seen.sighting is None
    assert seen.dataset is None
    assert report(setting) == ()
