"""Any sequence of verbs, against a model that fits on a few pages: balances agree at every step, on every store."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hushcount.accounting.spent import Spent
from hushcount.errors import (
    BudgetExhausted,
    CostOverrun,
    Frozen,
    InvalidParameter,
    JoinRefused,
    KeyReused,
    OtherPerson,
    Outdated,
    ReservationClosed,
    SeveralDatasets,
)
from hushcount.ledger import settling
from hushcount.ledger.ledger import EVERY, Account, Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.windows import ends
from tests.conformance.ledgers.stores import OWNER, HandClock, ask, cost, known, sighting

# More for a longer search.
EXAMPLES = int(os.environ.get("HUSHCOUNT_LEDGER_EXAMPLES", "15"))
ANALYSTS, ZERO = ("ann", "bob", "cyd"), Decimal(0)
# ann and bob share a group; the data set renews every day, the analysts' accounts are shown by the month.
GROUPS = {"ann": ["team"], "bob": ["team"], "cyd": []}
CEILINGS = {
    "dataset": (Decimal(1), "day"),
    "group": (Decimal("0.9"), "week"),
    "analyst": (Decimal("0.8"), "none"),
    "token": (Decimal("0.6"), "none"),
}
PERIODS = {"dataset": "day", "group": "week", "analyst": "month", "token": "month"}
PAYERS = (("dataset", ""), ("group", "team"), ("token", "t"), *(("analyst", name) for name in ANALYSTS))
RHOS = st.sampled_from(["0.05", "0.1", "0.3", "0.37"])
# The data sets that are there from the beginning; more come with sightings of new identities.
FIRST = ("visits", "clicks")
WHICH = st.integers(0, 9)


@dataclass
class Purse:
    """One account in the model."""

    period: str
    spent: Decimal = ZERO
    held: Decimal = ZERO
    lifetime: Decimal = ZERO
    opened: datetime | None = None
    until: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether its window is."""
        return self.until is not None and now < self.until

    def roll(self, at: datetime) -> None:
        """Open a new window if the last is over."""
        if not self.is_open(at):
            self.spent, self.opened, self.until = ZERO, at, ends(self.period, at)

    def used(self, now: datetime, window: str) -> Decimal:
        """What is held against the limit."""
        if window == "none":
            return self.lifetime + self.held
        return self.held + (self.spent if self.is_open(now) else ZERO)

    def join(self, other: Purse, now: datetime, common: Purse | None) -> None:
        """Two accounts as one; `common` is as one was when it left the other."""
        self.lifetime += other.lifetime - (common.lifetime if common else ZERO)
        if other.is_open(now) and self.is_open(now):
            twice = common.spent if common and self.opened == other.opened == common.opened else ZERO
            self.spent, self.until = self.spent + other.spent - twice, max(self.until, other.until)
        elif other.is_open(now):
            self.spent, self.opened, self.until = other.spent, now, other.until

    def leave(self, now: datetime) -> Purse:
        """A copy that counts what is held as spent."""
        copy = replace(self, held=ZERO)
        if self.held:
            copy.roll(now)
            copy.spent, copy.lifetime = copy.spent + self.held, copy.lifetime + self.held
        return copy


@dataclass
class People:
    """One population in the model: its accounts, and answers by question and data version."""

    purses: dict = field(default_factory=lambda: {payer: Purse(PERIODS[payer[0]]) for payer in PAYERS})
    stored: dict = field(default_factory=dict)
    closed: bool = False
    left: People | None = None
    then: dict = field(default_factory=dict)

    def shown(self, question) -> dict | None:
        """The stored answer to a question, if anybody has it: one that is veiled for all is none."""
        stored = self.stored.get((question.query, question.version))
        return stored if stored is not None and stored["paid"] else None

    def shared(self, other: People) -> dict:
        """The accounts as they were when one of the two left the other."""
        return self.then if self.left is other else other.then if other.left is self else {}


@dataclass
class Data:
    """One data set in the model; `exposed` is what was charged for answers about it."""

    people: People
    name: str
    population: str
    made: datetime
    person: str | None = "user"
    exposed: Decimal = ZERO


@dataclass
class Asked:
    """One query in the model; one that is open and has an answer is veiled, and is settled when its time is over.

    Who is given somebody else's answer under a veil holds nothing that could be settled: `real` is None.
    """

    question: object
    held: Decimal
    people: People
    payers: list
    expires: datetime
    state: str = "open"
    touched: bool = False
    real: object = None
    answer: object = None
    own: dict | None = None
    place: int = 0

    @property
    def purses(self) -> list:
        """The accounts that pay."""
        return [self.people.purses[payer] for payer in self.payers]


class LedgerMachine(RuleBasedStateMachine):
    """The ledger beside its model."""

    running = Bundle("running")
    new_ledger = None

    @initialize()
    def begin(self):
        """A new ledger with limits on everything and two data sets."""
        self.clock = HandClock()
        self.ledger = type(self).new_ledger(self.clock)
        for kind, (ceiling, window) in CEILINGS.items():
            account = Account(kind=kind, name=EVERY, entity=EVERY)
            self.ledger.set_limit(account, rho_limit(ceiling, "0.5", window=window), by=OWNER)
        for name, groups in GROUPS.items():
            for team in groups:
                self.ledger.enroll(name, team, by=OWNER)
        known(self.ledger, *FIRST)
        self.data = {name: Data(People(), name, name, self.clock.now) for name in FIRST}
        self.identities, self.asked, self.keys, self.joined = {}, [], itertools.count(), False
        self.records = {}

    def pick(self, which: int) -> str:
        """One of the data sets."""
        return sorted(self.data)[which % len(self.data)]

    @rule(
        target=running,
        which=WHICH,
        who=st.sampled_from([(name, token) for name in ANALYSTS for token in (None, "t")]),
        query=st.sampled_from([("x", "v1"), ("x", "v2"), ("y", "v1")]),
        rho=RHOS,
        how=st.tuples(st.booleans(), st.booleans()),
        minutes=st.integers(1, 3000),
    )
    def reserve(self, which, who, query, rho, how, minutes):
        """Ask; the model knows whether it is refused, repeated, frozen or held, and whether under a veil."""
        (name, token), (fresh, apart), dataset, worst = who, how, self.pick(which), Decimal(rho)
        lifetime = timedelta(minutes=minutes)
        question = ask(
            f"k{next(self.keys)}",
            dataset=dataset,
            query=f"{query[0]} {rho}",
            cost=cost(rho, "0"),
            analyst=name,
            fresh=fresh,
            version=f"{dataset} {query[1]}",
            lifetime=lifetime,
            token=token,
            apart=apart,
        )
        if self.is_frozen(dataset):
            with pytest.raises(Frozen):
                self.ledger.reserve(question)
            return None
        people = self.data[dataset].people
        stored = None if fresh else people.shown(question)
        payers = [("analyst", name), *(("group", team) for team in GROUPS[name]), ("dataset", "")]
        payers += [("token", token)] if token else []
        paid = set() if stored is None or (apart and ("analyst", name) not in stored["paid"]) else stored["paid"]
        charged = [payer for payer in payers if payer not in paid]
        # Room is asked for the worst case, also where a stored answer costs less.
        if not all(self.fits(people, payer, worst) for payer in charged):
            with pytest.raises(BudgetExhausted):
                self.ledger.reserve(question)
            assert self.ledger.check(question).refusal is not None
            return None
        real = self.ledger.reserve(question)
        for payer in charged:
            people.purses[payer].roll(self.clock.now)
        made = Asked(question, worst, people, charged, self.clock.now + lifetime, real=real, place=len(self.asked))
        if stored is not None and apart and len(charged) == len(payers):
            assert (real.payload, real.charged) == (stored["payload"], Spent())
            made.real, made.own, made.answer, made.touched = None, stored, stored["payload"], True
        elif stored is not None:
            assert real.payload == stored["payload"]
            assert real.charged.rho == (stored["rho"] if ("analyst", name) in charged else 0)
            self.charge(people, charged, stored["rho"])
            stored["paid"].update(charged)
            return None
        assert made.answer is not None or isinstance(real, Reservation)
        for payer in charged:
            people.purses[payer].held += worst
        self.asked.append(made)
        return made

    def is_frozen(self, dataset: str) -> bool:
        """Whether a freeze holds for a data set."""
        places = {dataset, self.data[dataset].population, EVERY}
        return any(("freeze", place) in self.records for place in places)

    def fits(self, people, payer, rho: Decimal) -> bool:
        """Whether an account has room."""
        ceiling, window = CEILINGS[payer[0]]
        return people.purses[payer].used(self.clock.now, window) + rho <= ceiling

    def charge(self, people, payers, rho) -> None:
        """Charge accounts."""
        for payer in payers:
            people.purses[payer].spent += rho
            people.purses[payer].lifetime += rho

    @rule(made=running)
    def touch(self, made):
        """Data is about to be read."""
        if made is None or made.real is None:
            return
        if made.state == "open" or self.late(made):
            self.ledger.touch(made.real)
            made.touched = True
        else:
            with pytest.raises(ReservationClosed):
                self.ledger.touch(made.real)

    @rule(made=running, changed=st.booleans())
    def retry(self, made, changed):
        """The same key again, also after the data changed."""
        if made is None or made.state == "refunded":
            return
        again = replace(made.question, version="changed") if changed else made.question
        if made.answer is not None:
            assert self.ledger.reserve(again).payload == made.answer
        elif made.state == "open" or self.late(made):
            if self.is_frozen(made.question.dataset):
                with pytest.raises(Frozen):
                    self.ledger.reserve(again)
            elif changed:
                with pytest.raises(KeyReused):
                    self.ledger.reserve(again)
            else:
                assert self.ledger.reserve(again) == made.real
        else:
            with pytest.raises((ReservationClosed, CostOverrun, Frozen)):
                self.ledger.reserve(again)

    @rule(made=consumes(running))
    def refund(self, made):
        """Nothing was read."""
        if made is None or made.real is None or made.state == "refunded":
            return
        if made.state == "open" and not made.touched and made.answer is None:
            self.ledger.refund(made.real)
            self.close(made, "refunded", ZERO, self.clock.now)
        else:
            with pytest.raises(ReservationClosed):
                self.ledger.refund(made.real)

    @rule(
        made=running,
        share=st.sampled_from(["0", "0.5", "1", "1.5"]),
        payload=st.binary(max_size=3),
        veiled=st.booleans(),
    )
    def settle(self, made, share, payload, veiled):
        """An answer is there, and shows at once or under a veil."""
        if made is None or made.real is None:
            return
        actual = made.held * Decimal(share)
        if made.answer is not None:
            again = self.ledger.settle(made.real, cost(actual, "0"), payload=payload, veiled=veiled)
            assert again.payload == made.answer
            return
        expired = made.state == "expired"
        if made.state in {"refunded", "overrun"} or (expired and not self.late(made)):
            with pytest.raises((ReservationClosed, CostOverrun)):
                self.ledger.settle(made.real, cost(actual, "0"), payload=payload, veiled=veiled)
        elif actual > made.held:
            with pytest.raises(CostOverrun):
                self.ledger.settle(made.real, cost(actual, "0"), payload=payload, veiled=veiled)
            self.close(made, "overrun", actual - made.held if expired else actual, self.clock.now, freed=not expired)
        else:
            self.release(made, actual, payload, veiled=veiled)

    def release(self, made, actual, payload, *, veiled: bool) -> None:
        """The model's half of a settlement that works. What is late shows at once, veil or not."""
        slot, stored = (made.question.query, made.question.version), made.people.stored
        new = {"payload": payload, "rho": actual, "paid": set(), "about": made.question.dataset}
        real = self.ledger.settle(made.real, cost(actual, "0"), payload=payload, veiled=veiled)
        made.own = new if made.question.fresh else stored.get(slot, new)
        stored.setdefault(slot, made.own)
        made.answer, made.touched = made.own["payload"], True
        assert real.payload == made.answer
        if made.state == "expired" or not veiled:
            self.show(made, self.clock.now)
        else:
            assert real.charged == Spent()

    def show(self, made, at) -> None:
        """An answer shows: whoever has not paid for it does, and what is left of what was held is given back."""
        price = {payer: made.own["rho"] for payer in made.payers if payer not in made.own["paid"]}
        made.own["paid"].update(made.payers)
        if made.state == "expired":
            made.state = "settled"
        else:
            self.close(made, "settled", price, at)

    @rule(made=running, later=st.sampled_from([timedelta(0), timedelta(minutes=3), timedelta(days=2)]))
    def unveil(self, made, later):
        """Say when a veiled answer shows: never later than its time would be over; of any other, nothing happens."""
        if made is None:
            return
        firsts = []

        def shows(now, took):
            firsts.append(took)
            return now + later

        moment = self.ledger.unveil(made.question.analyst, [made.question.key], shows)
        if made.state != "open" or made.answer is None:
            assert (moment, firsts) == (None, [])
            return
        made.expires = min(made.expires, self.clock.now + later)
        assert moment == made.expires
        # How long a first run took is told of what somebody else's run made.
        assert [len(one) for one in firsts] == [int(made.real is None)]
        if not later:
            self.show(made, made.expires)

    def late(self, made) -> bool:
        """Whether an expired query may still be answered."""
        if made.state != "expired" or made.people.closed:
            return False
        return all(purse.opened <= made.expires and purse.is_open(self.clock.now) for purse in made.purses)

    def close(self, made, state, price, at, *, freed=True):
        """What was held goes, what is charged comes."""
        made.state = state
        for payer in made.payers:
            purse, amount = made.people.purses[payer], price.get(payer, ZERO) if isinstance(price, dict) else price
            purse.roll(at)
            purse.held -= made.held if freed else ZERO
            self.charge(made.people, [payer], amount)
            if payer[0] == "dataset" and state != "overrun":
                self.data[made.question.dataset].exposed += amount

    @rule(step=st.sampled_from([timedelta(minutes=7), timedelta(hours=5), timedelta(days=3)]))
    def wait(self, step):
        """Time goes by; what expires is charged at the moment it expires, and what is veiled shows."""
        self.clock.now += step
        for made in sorted(self.asked, key=lambda made: (made.expires, made.place)):
            if made.state == "open" and made.expires <= self.clock.now:
                if made.answer is None:
                    self.close(made, "expired", made.held, made.expires)
                else:
                    self.show(made, made.expires)

    @rule(
        values=st.sets(st.sampled_from("123"), min_size=1, max_size=2),
        person=st.sampled_from(["user", "user", None, "row"]),
        which=st.none() | WHICH,
    )
    def register(self, values, person, which):
        """Data is met again, under identities and perhaps a name that are known or not."""
        declared, seen = None if which is None else self.pick(which), sighting(*values)
        known_as = {self.identities[value] for value in values if value in self.identities} | ({declared} - {None})
        name = declared and self.data[declared].name
        arguments = {"person": person, "name": name, "by": "ann"}
        if len({id(self.data[one].people) for one in known_as}) > 1:
            for verb in (
                lambda: self.ledger.catalog.lookup(seen, name=name),
                lambda: self.register_real(seen, arguments),
            ):
                with pytest.raises(SeveralDatasets):
                    verb()
            return
        if person is not None and any(self.data[one].person not in {None, person} for one in known_as):
            with pytest.raises(OtherPerson):
                self.register_real(seen, arguments)
            return
        before = self.ledger.catalog.lookup(seen, name=name)
        after = self.register_real(seen, arguments)
        chosen = declared or min(known_as, key=lambda one: (self.data[one].made, one), default=after.dataset.id)
        assert after.new == (before is None) == (not known_as)
        assert after.dataset.id == chosen
        new = Data(People(), after.dataset.name, after.dataset.population, self.clock.now, person=None)
        data = self.data.setdefault(chosen, new)
        data.person = data.person or person
        for value in values:
            self.identities.setdefault(value, chosen)

    def register_real(self, seen, arguments):
        """The ledger's half."""
        return self.ledger.catalog.register(seen, **arguments)

    @rule(which=WHICH)
    def repin(self, which):
        """Another column says who a person is, and back."""
        data = self.data[self.pick(which)]
        data.person = "row" if data.person == "user" else "user"
        self.ledger.catalog.repin(data.name, data.person, by=OWNER)

    @rule(
        place=st.sampled_from([("wish", "w"), ("wish", "v"), ("freeze", "visits"), ("freeze", "clicks")]),
        body=st.none() | st.dictionaries(st.sampled_from("ab"), st.integers() | st.text(max_size=3), max_size=2),
        read=st.sampled_from(["any", "present", "older"]),
    )
    def put(self, place, body, read):
        """A record is written or removed by whoever read the present edition, an older one, or none."""
        present = self.records.get(place)
        edition = {"any": None, "present": present[1] if present else 0, "older": 7}[read]
        if read == "older" and (present is None or present[1] != edition):
            with pytest.raises(Outdated):
                self.ledger.records.put(*place, body, owner="ann", by="ann", edition=edition)
            return
        self.ledger.records.put(*place, body, owner="ann", by="ann", edition=edition)
        if body is None:
            self.records.pop(place, None)
        else:
            self.records[place] = (body, 1 + (present[1] if present else 0), present[2] if present else self.clock.now)

    @invariant()
    def records_agree(self):
        """Every record is what the model says, and there is no other."""
        if not hasattr(self, "records"):
            return
        real = [record for kind in ("wish", "freeze") for record in self.ledger.records.page(kind)]
        assert {(r.kind, r.id): (r.body, r.edition, r.made) for r in real} == self.records

    @rule(one=WHICH, other=WHICH)
    def join(self, one, other):
        """Two populations become one."""
        names = self.pick(one), self.pick(other)
        one, other = self.data[names[0]], self.data[names[1]]
        kept, gone = one.people, other.people
        places = {*names, one.population, other.population}
        if kept is not gone and any(("freeze", place) in self.records for place in places):
            with pytest.raises(Frozen):
                self.ledger.catalog.join(one.name, other.name, by=OWNER)
            return
        if kept is gone or any(made.people is gone and made.state == "open" for made in self.asked):
            with pytest.raises(JoinRefused):
                self.ledger.catalog.join(one.name, other.name, by=OWNER)
            return
        self.ledger.catalog.join(one.name, other.name, by=OWNER)
        self.joined = gone.closed = True
        shared = kept.shared(gone)
        for payer, purse in kept.purses.items():
            purse.join(gone.purses[payer], self.clock.now, shared.get(payer))
        self.adopt(kept, gone, set(self.data))
        for data in self.data.values():
            if data.people is gone:
                data.people, data.population = kept, one.population

    @rule(which=WHICH)
    def split(self, which):
        """A data set leaves to a population of its own."""
        name = self.pick(which)
        data = self.data[name]
        old = data.people
        if any(("freeze", place) in self.records for place in (name, data.population)):
            with pytest.raises(Frozen):
                self.ledger.catalog.split(data.name, by=OWNER)
            return
        if sum(one.people is old for one in self.data.values()) == 1:
            with pytest.raises(InvalidParameter):
                self.ledger.catalog.split(data.name, by=OWNER)
            return
        left = self.ledger.catalog.split(data.name, by=OWNER)
        purses = {payer: purse.leave(self.clock.now) for payer, purse in old.purses.items()}
        then = {payer: replace(purse) for payer, purse in old.purses.items()}
        data.people, data.population = People(purses, left=old, then=then), left.population
        self.adopt(data.people, old, {left.id})

    def adopt(self, people, other, names) -> None:
        """Stored answers come along with those who paid for them."""
        for slot, stored in other.stored.items():
            if stored["about"] in names:
                own = people.stored.setdefault(slot, {**stored, "paid": set()})
                if own["payload"] == stored["payload"]:
                    own["paid"] |= stored["paid"]

    @invariant()
    def balances_agree(self):
        """The ledger says what the model says, and no limit was passed but by an overrun or a join."""
        if not hasattr(self, "data"):
            return
        passed = self.joined or any(made.state == "overrun" for made in self.asked)
        populations = {data.population: data.people for data in self.data.values()}
        for entity, people in populations.items():
            for (kind, name), purse in people.purses.items():
                if purse.until is None:
                    continue
                real = self.ledger.balance(Account(kind=kind, name=name or entity, entity=entity))
                assert real.spent == Spent(rho=purse.spent if purse.is_open(self.clock.now) else ZERO)
                assert (real.reserved, real.lifetime) == (Spent(rho=purse.held), Spent(rho=purse.lifetime))
                assert passed or real.left.rho >= 0

    @invariant()
    def nothing_disappears(self):
        """Whatever was charged for answers about data sets is in the account of the people they are about now.

        Each answer is about one data set, so what was exposed of all data sets of a population adds up, however often
        they were joined and split before.
        """
        everything = list(getattr(self, "data", {}).values())
        for data in everything:
            exposed = sum(one.exposed for one in everything if one.people is data.people)
            assert data.people.purses["dataset", ""].lifetime >= exposed

    @invariant()
    def the_log_adds_up(self):
        """Every table is what the log says, after every step."""
        if hasattr(self, "data"):
            assert self.ledger.verify().problems == ()

    def teardown(self):
        """Let go of the ledger."""
        if hasattr(self, "ledger"):
            self.ledger.close()


def run_machine(store, **how) -> None:
    """Draw sequences on ledgers of a store; `how` is said to hypothesis."""
    fresh = itertools.count()

    def new_ledger(clock):
        number = next(fresh)
        place = type(store)(
            store.kind,
            store.place + (f"-{number}" if store.kind == "sqlite" else ""),
            schema=f"{store.schema}_{number}",
        )
        return place.found(clock)

    class Machine(LedgerMachine):
        pass

    Machine.new_ledger = staticmethod(new_ledger)
    drawn = {"max_examples": EXAMPLES, "stateful_step_count": 30, "deadline": None, **how}
    run_state_machine_as_test(Machine, settings=settings(**drawn))


def test_any_sequence_agrees_with_the_model(store):
    """Random sequences of all verbs, veils, time, joins, splits and retries leave both with the same balances."""
    run_machine(store)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_ledger_that_charges_a_veiled_answer_at_once_is_caught(store, monkeypatch):
    """The twin whose veils hide nothing does not agree with the model; it is the same on every store."""
    really = settling.settle
    monkeypatch.setattr(settling, "settle", lambda *given, **named: really(*given, **{**named, "veiled": False}))
    # The first difference is enough, and about one sequence in ten has one; the shortest way to it is of no use.
    with pytest.raises(AssertionError):
        run_machine(store, phases=[Phase.generate], report_multiple_bugs=False, max_examples=200)
