"""Accounts that meet, part and are dated back: nothing that was spent is lost or freed, whatever their windows."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.accounting.spent import Spent
from hushcount.ledger.accounts import AccountState, from_row, inherit, merge, moved, reopen, to_row
from hushcount.ledger.windows import ends, micros, moment

DAY = 24 * 60 * 60 * 1_000_000
NOW = 20_000 * DAY
AMOUNTS = st.builds(
    lambda rho, delta: Spent(rho=Decimal(rho) / 100, delta=Decimal(delta) / 10**9),
    st.integers(0, 500),
    st.integers(0, 500),
)


@st.composite
def states(draw) -> AccountState:
    """An account whose window is over, open or not there yet, at the moment `NOW`."""
    opened = NOW + draw(st.integers(-50, 0)) * DAY
    period = draw(st.sampled_from(["day", "week", "month"]))
    spent, earlier = draw(AMOUNTS), draw(AMOUNTS)
    if draw(st.booleans()):
        return AccountState("analyst", "ann")
    until = micros(ends(period, moment(opened)))
    return AccountState(
        "analyst", "ann", period, opened, until, draw(st.integers(1, 9)), spent, draw(AMOUNTS), spent + earlier
    )


def counted(state: AccountState) -> Spent:
    """What counts in the window at `NOW`."""
    return state.spent if state.until > NOW else Spent()


@given(states(), states())
def test_joined_accounts_hold_what_both_held(one, other):
    """Totals, what is held and what counts now add up exactly, and no window ends before either did."""
    both = merge(one, other, at=NOW)

    assert both.lifetime == one.lifetime + other.lifetime
    assert both.reserved == one.reserved + other.reserved
    assert both.queries == one.queries + other.queries
    assert counted(both) == counted(one) + counted(other)
    assert all(both.until >= state.until for state in (one, other) if state.until > NOW)


@given(states(), states())
def test_a_joined_window_pays_for_nothing_that_was_paid_in_another(one, other):
    """If our own window was over, the joined one counts as opened now: what expired before it stays closed."""
    both = merge(one, other, at=NOW)

    if one.until <= NOW and other.until > NOW:
        assert both.opened == NOW
    else:
        assert both.opened == one.opened


@given(states())
def test_what_leaves_has_spent_what_was_spent_and_held(state):
    """A copy never counts less than the account that it was made from, and holds nothing."""
    before = replace(state)
    copy = inherit(state, at=NOW)

    assert copy.reserved == Spent()
    assert copy.lifetime == state.lifetime + state.reserved
    assert counted(copy) == counted(state) + state.reserved
    assert state == before


@given(states(), st.lists(st.tuples(st.integers(-60, 60), st.integers(0, 40), AMOUNTS), max_size=5))
def test_a_window_of_the_future_is_opened_now_with_all_that_counts(state, windows):
    """Everything spent in windows that are not over counts in the one that is opened now; the total is untouched."""
    past = [(NOW + start * DAY, NOW + (start + length) * DAY, spent) for start, length, spent in windows]
    again = reopen(state, past, at=NOW)
    expected = sum((spent for _, until, spent in past if until > NOW), Spent())

    assert (again.opened, again.spent, again.lifetime) == (NOW, expected, state.lifetime)
    assert NOW < again.until <= NOW + 31 * DAY


@given(states())
def test_an_account_is_its_row(state):
    """What is written to the table and the log reads back as the same account."""
    assert from_row(to_row(state)) == state
    assert from_row(list(to_row(state))) == state


def test_a_data_sets_account_is_called_like_its_book():
    """Moved to another book, the account of the whole world changes its name; an analyst's does not."""
    world, ann = AccountState("dataset", "week 2"), AccountState("analyst", "ann")

    assert moved(world, "week 1").name == "week 1"
    assert moved(ann, "week 1") == ann
    assert world.name == "week 2"


class Followed:
    """An account beside the very charges that it stands for: all of them, and those of its window."""

    def __init__(self, state: AccountState, ever=(), window=(), origin=None) -> None:
        self.state, self.ever, self.window, self.origin = state, set(ever), set(window), origin

    def charge(self, number: int, *, at: int, period: str) -> None:
        """One charge of 2^number, so that every set of charges has a sum of its own."""
        if at >= self.state.until:
            self.window.clear()
        self.state.roll(at, period)
        self.state.move(spent=amount_of({number}))
        self.ever.add(number)
        self.window.add(number)

    def part(self, at: int) -> Followed:
        """A population that leaves."""
        return Followed(inherit(self.state, at=at), self.ever, self.window, (self, replace(self.state)))

    def meet(self, other: Followed, *, at: int, join) -> None:
        """Another population is taken over."""
        for child, parent in ((self, other), (other, self)):
            common = child.origin[1] if child.origin and child.origin[0] is parent else None
            if common:
                break
        ours, theirs = at < self.state.until, at < other.state.until
        self.window = (self.window if ours or not theirs else set()) | (other.window if theirs else set())
        self.state, self.ever = join(self.state, other.state, at=at, common=common), self.ever | other.ever

    def told_less(self) -> bool:
        """Whether the account says less than was charged."""
        short = (self.state.lifetime.rho < amount_of(self.ever).rho, self.state.spent.rho < amount_of(self.window).rho)
        return any(short)


def amount_of(charges: set[int]) -> Spent:
    """What these charges add up to."""
    return Spent(rho=Decimal(sum(2**number for number in charges)))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["charge", "part", "meet", "wait"]),
        *(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["day", "week", "month"])),
    ),
    max_size=40,
)


def follow(steps, join) -> bool:
    """Whether any account ever says less than was charged, when populations meet and part in this order."""
    people, at = [Followed(AccountState("analyst", "ann")) for _ in range(3)], NOW
    for number, (deed, first, second, period) in enumerate(steps):
        one, other = people[first % len(people)], people[second % len(people)]
        if deed == "wait":
            at += (1 + second) * DAY
        elif deed == "charge":
            one.charge(number, at=at, period=period)
        elif deed == "part":
            people.append(one.part(at))
        elif one is not other:
            one.meet(other, at=at, join=join)
            people.remove(other)
        if any(person.told_less() for person in people):
            return True
    return False


@settings(max_examples=500)
@given(STEPS)
def test_whatever_meets_and_parts_is_never_told_less_than_was_charged(steps):
    """Any order of charges, renewals, splits and joins among several: totals and windows hold all that was charged."""
    assert not follow(steps, merge)


def blind(mine: AccountState, theirs: AccountState, *, at: int, common: AccountState | None) -> AccountState:
    """A broken twin: takes what was common off the window, whether or not it is still in both."""
    if common:
        common = replace(common, opened=mine.opened)
        theirs = replace(theirs, opened=mine.opened)
    return merge(mine, theirs, at=at, common=common)


def greedy(mine: AccountState, theirs: AccountState, *, at: int, common: AccountState | None) -> AccountState:
    """A broken twin: takes for common whatever both could have."""
    return merge(mine, theirs, at=at, common=common and replace(common, lifetime=theirs.lifetime))


@pytest.mark.parametrize("broken", [blind, greedy])
def test_a_join_that_takes_off_too_much_is_told_less(broken):
    """The check above finds a join that forgets renewals, and one that takes off what was spent since."""
    order = ["charge 0 0", "part 0 0", "wait 0 3", "charge 0 0", "charge 3 0", "meet 0 3"]
    steps = [(deed, int(one), int(other), "day") for deed, one, other in map(str.split, order)]

    assert follow(steps, broken)
    assert not follow(steps, merge)
