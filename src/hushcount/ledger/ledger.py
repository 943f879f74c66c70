"""The ledger port: who may spend how much on which data, what was spent, and every answer that was paid for.

One query is `reserve` (the worst case, durable before any data is read) -> `touch` (data is about to be read) ->
`settle` (the actual cost, with the answer) or, if no data was read, `refund`. Each verb is one transaction.

Promises of every store, in any order of calls, by any number of processes, with crashes anywhere:

* What an enforced account spent in a window and holds in reservations is never above its limit.
* What was released was charged before: `settle` alone hands out an answer, and it stores and charges in one step.
* An analyst's account, their groups', their token's and the population's are charged together or not at all.
* A reservation that nobody settles is charged in full when it expires. It is never freed silently.
* The same idempotency key never charges twice; it returns the same reservation or the same stored answer.
* The cost of every verb but `history`, `usage`, `set_clock` and `verify` does not grow with the history.

Which data a question is about, and so which accounts pay, is the catalog's part (`ledger/catalog.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias, get_args

from hushcount.accounting.spent import Spent
from hushcount.ledger.catalog import Catalog
from hushcount.ledger.jobs import Jobs
from hushcount.ledger.limits import Limit, Mode
from hushcount.ledger.records import Records
from hushcount.ledger.watch import Watch
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen

Kind: TypeAlias = Literal["analyst", "group", "token", "dataset"]
Role: TypeAlias = Literal["owner", "analyst", "reader", "auditor", "program"]
ClockDeed: TypeAlias = Literal["accept", "repair"]
KINDS: tuple[str, ...] = get_args(Kind)
ROLES: tuple[str, ...] = get_args(Role)
# Who sees what everybody did, and who asks nothing.
OVERSEERS: frozenset[str] = frozenset({"owner", "auditor"})
SILENT: frozenset[str] = frozenset({"auditor", "reader"})
# In place of a name or an entity: every one that has no rule of its own.
EVERY = "*"
# The name under which a service acts for itself, such as when it founds a ledger. Nobody signs in as this, and nobody
# can ask it for anything.
SERVICE = "the service"
# When the end of an attempt shows: from the moment now, and how long the first runs took of answers that were there.
Shows: TypeAlias = Callable[[datetime, Sequence[timedelta]], datetime]
LIFETIME = timedelta(minutes=15)


@frozen
class Account:
    """What is charged: an analyst, a group, a token or the whole world ("dataset"), each for one population (`entity`).

    A token's account is there for its cap: what one program may spend of its analyst's budget. The dataset account adds
    up everything that anybody learnt: the bound that holds if all analysts collude. It is called like its population,
    which is called like the first of its data sets.
    """

    kind: Kind
    name: str
    entity: str

    def __str__(self) -> str:
        return f"data set '{self.entity}'" if self.kind == "dataset" else f"{self.kind} '{self.name}'"


@frozen
class Variant:
    """Another way to ask, with its worst case: offered in a refusal if it fits.

    Attributes:
        label: what is different, in words.
        cost: the worst case.
        change: what is different, by the names under which it is asked.
        give_or_take: half the width of a 95 % interval, in people; None if there are no counts or it is not known.
        cutoff: about how many people an item needs to be shown; None if every item is, or it is not known.
    """

    label: str
    cost: Cost
    change: Mapping[str, str] = field(default_factory=dict)
    give_or_take: int | None = None
    cutoff: float | None = None

    def __str__(self) -> str:
        give = "" if self.give_or_take is None else f", give or take {self.give_or_take}"
        cut = "" if self.cutoff is None else f", for items that about {self.cutoff:.0f} people or more have"
        return f"{self.label}{give}{cut}"


@frozen
class Way:
    """Another way to ask that is planned only when somebody looks at it.

    Attributes:
        most: what it costs at most.
        plan: what it is; None if it cannot be asked like that.
    """

    most: Spent
    plan: Callable[[], Variant | None]


@frozen
class Ask:
    """One question to be paid for.

    Attributes:
        analyst: who asks.
        dataset: the `Dataset.id` that the catalog gave when the data was registered.
        version: a keyed digest that names exactly what is read. Versions that are counters must be prefixed with what
            they count, or two tables' version 7 would be one.
        query: the canonical text of the question.
        cost: the worst case.
        key: the idempotency key, chosen by the caller, unique per analyst.
        fresh: draw and pay anew even if a stored answer exists.
        what: the question in a few words, for histories and refusals.
        family: a key shared by questions that answer nearly the same, for "already answered" in a refusal.
        lifetime: how long the reservation lives.
        variants: cheaper ways to ask; looked at only if it is refused.
        token: the token that it is asked with, whose account is charged with the others; None without one.
        apart: whether nothing may tell the analyst that somebody else asked before. Then a stored answer that they
            have not paid for needs the room that a new one does, and the whole of it is held until `unveil`.
    """

    analyst: str
    dataset: str
    version: str
    query: str
    cost: Cost
    key: str
    fresh: bool = False
    what: str = ""
    family: str = ""
    lifetime: timedelta = LIFETIME
    variants: Iterable[Variant | Way] = ()
    token: str | None = None
    apart: bool = False


@frozen
class Proof:
    """A link of the audit chain. Whoever keeps one can later show that the log behind it was not rewritten."""

    entity: str
    seq: int
    hash: str


@frozen
class Reservation:
    """A worst case that is held durably.

    Attributes:
        entity: the population.
        number: the reservation's number in that population's book.
        analyst: who asked.
        held: what is held on every account.
        expires: when it is charged in full.
        mode: "track" if a limit was not enforced, so that the result must be marked.
        over: the accounts whose tracked limit this query exceeds.
        payers: the accounts that it is held on, each by kind and name, so that `settle` asks for them at once.
    """

    entity: str
    number: int
    analyst: str
    held: Spent
    expires: datetime
    mode: Mode
    over: tuple[Account, ...] = ()
    payers: tuple[tuple[Kind, str], ...] = ()


@frozen
class StoredRelease:
    """An answer that was paid for. Only `payload` may leave, also after `settle`.

    Attributes:
        entity: the population.
        number: the number of the query that made it.
        version: the data version it was made from.
        payload: the answer, byte for byte.
        cost: what making it cost.
        charged: what this call charged to the asking analyst; zero for a repeat.
        held: the worst case of the question, which was held while it ran; a repeat needed room for it, too.
        repeated: whether the answer was made by an earlier query.
        made: when it was made.
        mode: "track" if a limit was not enforced, so that the result must be marked.
        proof: the link of the chain that records this call, or the latest for a retry.
    """

    entity: str
    number: int
    version: str
    payload: bytes
    cost: Cost
    charged: Spent
    held: Spent
    repeated: bool
    made: datetime
    mode: Mode
    proof: Proof


@frozen
class Balance:
    """What an account spent, holds and has left.

    Attributes:
        account: which.
        limit: what it may spend, or None.
        spent: in the window that is open.
        reserved: held by queries that are running.
        lifetime: spent ever, renewals notwithstanding.
        left: what a new query may cost, or None without a limit. Negative only where limits are tracked or were cut.
        opened: when the window opened, at its first charge; None if none is open.
        renews: when the next window may open.
        queries: how many queries were reserved ever.
    """

    account: Account
    limit: Limit | None
    spent: Spent
    reserved: Spent
    lifetime: Spent
    left: Spent | None
    opened: datetime | None
    renews: datetime | None
    queries: int


@frozen
class Spender:
    """One earlier charge, for "who spent it on what"."""

    analyst: str
    what: str
    spent: Spent
    when: datetime


@frozen
class Owned:
    """A stored answer that an analyst has paid for: its number, its words, and a key under which they have it.

    The key is None if they asked for it long ago.
    """

    number: int
    what: str
    key: str | None = None


@frozen
class Refusal:
    """Why a query was refused, and what can be done. Made from the ledger alone: it says nothing of the data.

    Attributes:
        asked: the worst case.
        short: the accounts that do not have it, each with its balance.
        room: the most that a query of this analyst may cost now.
        spenders: the dearest of the latest charges to those accounts: their own; to owners and auditors, everybody's.
        others: what the others' latest charges add up to, without words or names.
        renews: when the last of those accounts is renewed; None if one never is.
        variant: the cheapest offered variant that fits; of an analyst who is apart and short alone, into their own.
        stored: stored answers of the same family that this analyst already paid for.
        ask_whom: the owners.
    """

    asked: Spent
    short: tuple[Balance, ...]
    room: Spent
    spenders: tuple[Spender, ...] = ()
    others: Spent = field(default_factory=Spent)
    renews: datetime | None = None
    variant: Variant | None = None
    stored: tuple[Owned, ...] = ()
    ask_whom: tuple[str, ...] = ()


@frozen
class Quote:
    """What `reserve` would do now.

    Attributes:
        charge: the worst case for the analyst; zero if a stored answer is theirs already. What a stored answer cost in
            fact is not told before it is paid for.
        stored: whether a stored answer would be returned.
        refusal: why it would be refused, or None.
        balances: of every account concerned, before the query.
        more: about how many queries like this still fit, this one included; None if nothing limits them.
    """

    charge: Spent
    stored: bool
    refusal: Refusal | None
    balances: tuple[Balance, ...]
    more: int | None


@frozen
class Entry:
    """One link of the log, as it was written."""

    entity: str
    seq: int
    at: datetime
    kind: str
    by: str
    body: Mapping[str, Any]
    hash: str


@frozen
class Use:
    """One charge to an analyst's account: the raw material of proposals."""

    analyst: str
    at: datetime
    spent: Spent


@frozen
class Page:
    """Which part of the history: the entries of one population's book after a number, oldest first.

    Attributes:
        entity: the population.
        after: the number after which it begins.
        size: how many at most.
        analyst: only what this one did.
        dataset: only questions about this data set, by its id: for that a role for the data set is enough.
    """

    entity: str
    after: int = 0
    size: int = 100
    analyst: str | None = None
    dataset: str | None = None


@frozen
class Verdict:
    """What `verify` found: every disagreement in words, none if the ledger is whole, and the head of every book."""

    problems: tuple[str, ...]
    heads: tuple[Proof, ...] = field(default=())


class Rules(Protocol):
    """Who may do what: limits, roles and groups. Each change is in the log."""

    def set_limit(self, account: Account, limit: Limit | None, *, by: str, after: int | None = None) -> None:
        """Set or lift the limit of an account, or with `EVERY` of all accounts without a rule of their own.

        For owners; the cap of a token, for all populations, also for whoever owns the record of that token. With
        `after`, only if that is still the newest entry of the book of rules: what it was made from still holds.

        Raises:
            Outdated: it is not. Nothing was changed.
            UnknownDataset: there is no such population; register the data first, or the limit would bind nothing.
        """

    @property
    def order(self) -> Decimal:
        """The largest Renyi order for which costs are known, and by which sums are converted; infinite if all are."""

    def lower_order(self, order: Decimal, *, by: str) -> None:
        """Know costs for orders up to this one from now on; owners only. They are never had back.

        What was promised of single releases stays true. An epsilon of a sum is told by these orders alone, and limits
        in epsilon allow no more than that.
        """

    def grant(
        self, person: str, role: Role | None, *, entity: str = EVERY, dataset: str | None = None, by: str
    ) -> None:
        """Give a person a role for one population, one data set or all, or take it away; owners only.

        Whoever has no role is an analyst. Readers, like auditors, ask nothing; a program asks like an analyst.

        Args:
            person: who.
            role: what they are from now on; None for nothing.
            entity: the population, or the id of a data set where no population is called so.
            dataset: the id of a data set, whatever populations are called. The role is for this data set alone, and
                goes before one for its population.
            by: who gives it.

        Raises:
            UnknownDataset: there is no such population or data set.
        """

    def role_of(self, person: str, *, dataset: str | None = None) -> Role | None:
        """The role that a person was given: for the data set, else for its population, else for all; None if none."""

    def enroll(self, analyst: str, group: str, *, by: str, member: bool = True) -> None:
        """Put an analyst into a group or take them out; owners only. Running reservations keep their accounts."""


class Ledger(Rules, Protocol):
    """A durable ledger; see the promises on top of this file.

    Attributes:
        catalog: the data sets that it knows.
        records: small documents whose changes are in the chain.
        jobs: questions that a service took.
        watch: what those who run a service ask.
        founded: whether this very call founded it.
        migrated: what opening it changed in a ledger of an older version, in sentences; empty if nothing.
    """

    catalog: Catalog
    records: Records
    jobs: Jobs
    watch: Watch
    founded: bool
    migrated: str

    def check(self, ask: Ask) -> Quote:
        """What `reserve` would do now, without doing it. A later `reserve` decides anew.

        Of data that was never registered: what a new data set would have.
        """

    def reserve(self, ask: Ask) -> Reservation | StoredRelease:
        """Hold the worst case durably, or return the stored answer to the same question on the same data.

        A stored answer is charged at its actual cost, once, to those of the analyst's accounts that have not paid for
        it yet, and never again to the data set: the same bytes tell the world nothing new.

        Raises:
            BudgetExhausted: the worst case does not fit; `refusal` holds a `Refusal`. Nothing was charged.
            UnknownDataset: the data was not registered.
            ClockImplausible: windows cannot be told; see `set_clock`.
            KeyReused: the key was used for another request, or the data changed under a running one.
            ReservationClosed: the key's reservation expired in an earlier window; it was charged, a new key is needed.
            NotPermitted: an auditor or a reader asked.
            Frozen: an owner stopped all questions about this data. What the key got before is still handed out.
        """

    def reserve_all(self, asks: Sequence[Ask]) -> tuple[Reservation | StoredRelease, ...]:
        """As `reserve` for each of several questions about one data set, all of them or none, in their order.

        Raises:
            BudgetExhausted: they do not fit together. Nothing was charged, also not for what is stored.
        """

    def recall(self, analyst: str, key: str) -> StoredRelease | Reservation | None:
        """What became of an attempt: its answer, or what is held for it; None if it was never made or was refunded.

        Reads only. Of an answer, `charged` is what the attempt charged then. A reservation whose `expires` is over was
        charged in full, or will be.

        Raises:
            CostOverrun: the attempt used more than was reserved: it was charged, and there is no answer.
        """

    def touch(self, reservation: Reservation) -> None:
        """Record durably that data is about to be read. From here on the reservation can no longer be refunded."""

    def settle(self, reservation: Reservation, cost: Cost, *, payload: bytes, veiled: bool = False) -> StoredRelease:
        """Charge the actual cost, give back the rest, store the answer: one step. What it returns is the release.

        If the same question was settled by someone else meanwhile, theirs is returned and `payload` must be discarded,
        as after a retry. An expired reservation stays charged in full; its answer is still accepted while no window
        that paid for it was renewed.

        With `veiled` the answer is stored and durable, and all that was held stays held: no balance, price or refusal
        tells that it is there, until `unveil` says when it shows, or the reservation's time is over.

        Raises:
            CostOverrun: `cost` is above what was reserved. The larger of both was charged, nothing may be released.
            ReservationClosed: it was refunded, or expired in an earlier window.
        """

    def unveil(self, analyst: str, keys: Sequence[str], shows: Shows) -> datetime | None:
        """Let the veiled answers of an attempt show, all at the same moment; returns it, or None if none is veiled.

        At that moment, by the ledger's clock and whoever comes by first, the rest of what is held is given back.
        """

    def refund(self, reservation: Reservation) -> None:
        """Free a reservation for which no data was read. Repeating it does nothing.

        Raises:
            ReservationClosed: data was touched, or it was settled or has expired.
        """

    def balance(self, account: Account) -> Balance:
        """What one account spent, holds and has left. An account that was never used has spent nothing."""

    def history(self, page: Page, *, by: str) -> tuple[Entry, ...]:
        """A part of the log. Owners and auditors see all of it, analysts what they did themselves."""

    def usage(self, entity: str, *, by: str, dataset: str | None = None) -> tuple[Use, ...]:
        """Every charge to an analyst of this population, oldest first, for proposals; owners and auditors only.

        With the id of a data set, only for questions about it: for that a role for the data set is enough.
        """

    def set_clock(self, deed: ClockDeed, *, by: str) -> str:
        """Say that the clock is right although it looks wrong; owners only. Returns what was done, in a sentence.

        "accept" takes the present moment, however long after the newest entry it is. "repair" takes back what a clock
        in the future did: entries dated after now no longer hold, and windows that they opened are opened now, with
        everything in them that was spent, so that nothing is freed.
        """

    def heads(self) -> tuple[Proof, ...]:
        """The newest link of every book, to be kept elsewhere; what `verify` tells too, without a replay."""

    def verify(self, anchors: Mapping[str, Proof] | None = None) -> Verdict:
        """Replay every book: chain, balances, stored answers; with `anchors`, that kept links are still in it."""

    def close(self) -> None:
        """Let go of the store."""
