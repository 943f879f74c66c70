"""The verb `budget`: what is left for this data, when it is renewed, and who spent it on what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hushcount.cli.failures import told
from hushcount.cli.options import server_option

if TYPE_CHECKING:
    from hushcount.app.budgets import Left
    from hushcount.app.desk import Desk
    from hushcount.app.history import Deed
    from hushcount.app.setting import Setting
    from hushcount.ledger.ledger import Balance
    from hushcount.ledger.limits import Rounding

_Command = TypeVar("_Command", bound=Callable[..., Any])


def ledger_options(command: _Command) -> _Command:
    """Add the options that say which ledger, and who stands before it."""
    who = click.option("--analyst", metavar="NAME", help="Who you are, if not the user of this computer.")
    place = click.option("--ledger", metavar="PLACE", help="Where spending is kept: a file or a PostgreSQL address.")
    return place(who(command))


def data_options(command: _Command) -> _Command:
    """Add FILE and the options that say which data: by its file, by its name in the catalog, or by both."""
    file = click.argument("file", metavar="[FILE]", required=False)
    name = click.option("--dataset", metavar="NAME", help="The data set by its name in the catalog, instead of FILE.")
    table = click.option("--table", metavar="NAME", help="The table, where FILE is a database with several.")
    return file(name(table(command)))


@click.command()
@data_options
@ledger_options
@server_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@click.option("--expert", is_flag=True, help="Also in rho, epsilon, delta and LinkedIn's units.")
def budget(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """What is left for this data, when it is renewed, and who spent it on what."""
    with told():
        if given["server"]:
            from hushcount.cli.served import show_budget

            show_budget(given)
            return
        from hushcount.app.budgets import look
        from hushcount.app.forms import left_form
        from hushcount.cli.render import show_json

        with opened(given, founds=True) as desk:
            left = look(desk)
            if given["as_json"]:
                show_json(left_form(desk, left))
                return
            for line in _sentences(desk, left):
                click.echo(line)
            if given["expert"]:
                click.echo()
                _show_numbers(left)
            if left.deeds:
                everybody = "everybody's" if left.sees_all else "yours; owners and auditors see everybody's"
                click.echo(f"\nThe last charges ({everybody}):")
                print_deeds(left.deeds)


@contextmanager
def opened(
    given: dict[str, Any], *, file: str | None = None, founds: bool = False, enters: bool = False
) -> Iterator[Desk]:
    """The desk at the data that was named, closed afterwards; stages are told if it takes long.

    Args:
        given: the options.
        file: the data, if it is not FILE.
        founds: whether a ledger that is not there is founded.
        enters: whether data that is not known is entered into the catalog.
    """
    from hushcount.app.desk import Data, open_desk
    from hushcount.cli.stages import Stages
    from hushcount.errors import InvalidParameter

    data = Data(source=file or given.get("file"), dataset=given["dataset"], table=given["table"])
    if data.source is None and data.dataset is None:
        raise InvalidParameter("data", None, "named", "Write FILE, or --dataset NAME. All of them: hushcount catalog")
    with opened_setting(given, data.source, founds=founds or enters) as setting:
        with Stages(quiet=bool(given.get("as_json"))) as stages:
            stages.say("looking at the data's version")
            desk = open_desk(data, setting, enters=enters, say=stages.say)
        yield desk


@contextmanager
def opened_setting(given: dict[str, Any], source: str | None = None, *, founds: bool = False) -> Iterator[Setting]:
    """The ledger that was named, or that is found from the data's folder, closed afterwards.

    It must be there, unless a rule is to be made (`founds`): a new one would have nothing to tell and would look well.
    """
    from hushcount.app.wiring import existing_setting, make_setting
    from hushcount.cli.render import show_note
    from hushcount.library.surroundings import look_around

    places = look_around(ledger=given["ledger"], analyst=given.get("analyst"))
    with (make_setting if founds else existing_setting)(places, source) as setting:
        for sentence in setting.notes:
            show_note(sentence)
        yield setting


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of texts, each column as wide as it needs."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for number, row in enumerate((headings, *rows)):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.secho(f"  {line}", bold=number == 0)


def print_deeds(deeds: Sequence[Deed]) -> None:
    """Questions and changes of rules, one on each line."""
    from hushcount.app.words import in_releases

    rows = [
        (
            f"{deed.when:%Y-%m-%d %H:%M}",
            deed.who or "the ledger",
            deed.what,
            "" if deed.spent is None else f"{in_releases(deed.spent):.3g}",
            outcome(deed),
        )
        for deed in deeds
    ]
    print_rows(("when (UTC)", "who", "what", "releases", "outcome"), rows)


def outcome(deed: Deed) -> str:
    """What became of a question, and that a limit was not enforced on it."""
    if deed.mode != "track" or not deed.outcome:
        return deed.outcome
    return f"{deed.outcome}; {'OVER THE LIMIT, which is only tracked' if deed.over else 'no limit was enforced'}"


def _sentences(desk: Desk, left: Left) -> list[str]:
    """What is left in plain words: the data set's budget first, then the asker's own and their groups'."""
    from hushcount.ledger.windows import renewal

    dataset, *others = left.balances
    lines = [f"Budget of {desk.title}{_shared(desk)}", "", _left("This data", dataset)]
    lines += [_left(_name(balance, desk.by), balance) for balance in others if balance.limit is not None]
    if left.more is None:
        lines.append("Nothing is refused at present.")
    else:
        lines.append(f"That is about {left.more:,} more questions like a standard count{_for_whom(others, desk)}.")
    if dataset.limit is not None:
        lines.append(renewal(dataset.limit.window))
    lines.append("The same question on the same data is answered again for free.")
    return [*lines, "", *(_spent(_name(balance, desk.by), balance) for balance in left.balances)]


def _shared(desk: Desk) -> str:
    """Which other data sets spend from the same account."""
    if desk.dataset is None:
        return ", which nobody asked yet"
    others = [
        dataset.name
        for dataset in desk.ledger.catalog.datasets(by=desk.by)
        if dataset.population == desk.dataset.population and dataset.id != desk.dataset.id
    ]
    return f", shared with {', '.join(others)}: they are about the same people" if others else ""


def _left(name: str, balance: Balance) -> str:
    from hushcount.app.words import limit_words, rest

    limit = balance.limit
    if limit is None or balance.left is None:
        return f"{name}: nothing limits what may be asked."
    if limit.mode == "track" and min(balance.left.rho, balance.left.delta) < 0:
        return f"{name}: OVER ITS LIMIT of {limit_words(limit)}; questions still go through and are marked."
    return f"{name}: {rest(balance.left, limit):.3g} left of {limit_words(limit)}, {_renewed(balance)}."


def _for_whom(others: Sequence[Balance], desk: Desk) -> str:
    return f" for {desk.by}" if any(balance.limit is not None for balance in others) else ""


def _renewed(balance: Balance) -> str:
    if balance.limit is not None and balance.limit.window == "none":
        return "never renewed"
    if balance.renews is None:
        return "from the next question on"
    return f"renewed on {balance.renews:%d %B %Y}"


def _spent(name: str, balance: Balance) -> str:
    from hushcount.app.words import in_releases

    window = balance.limit.window if balance.limit is not None and balance.limit.window != "none" else "month"
    period = "today" if window == "day" else f"this {window}"
    running = f", {in_releases(balance.reserved):.3g} held by running questions" if balance.reserved.rho else ""
    return (
        f"{name}: {in_releases(balance.spent):.3g} spent {period}{running}; {in_releases(balance.lifetime):.3g} ever, "
        f"in {balance.queries:,} question{'' if balance.queries == 1 else 's'}."
    )


def _name(balance: Balance, by: str) -> str:
    account = balance.account
    if account.kind == "dataset":
        return "This data"
    return f"Your own account ({by})" if account.kind == "analyst" else f"Your {account.kind} '{account.name}'"


def _show_numbers(left: Left) -> None:
    """The same amounts in all three currencies."""
    from hushcount.app.forms import amount_form, amounts_of

    rows = []
    for balance in left.balances:
        for what, spent, rounding in amounts_of(balance):
            shown = amount_form(spent, balance.limit, rounding)
            epsilon = "none" if shown["epsilon"] is None else _short(Decimal(shown["epsilon"]), rounding)
            rows.append(
                (
                    f"{balance.account.kind} {what}",
                    *(_short(getattr(spent, name), rounding) for name in ("rho", "delta")),
                    f"({epsilon}, {_short(Decimal(shown['epsilon_delta']), 'up')})",
                    f"{shown['information']:,} of {shown['epsilon_per']}",
                    f"{shown['calls']:,} of {float(shown['delta_per_call']):.2g}",
                )
            )
    print_rows(("", "rho", "delta", "(epsilon, delta)", "information units", "call units"), rows)


def _short(value: Decimal, rounding: Rounding) -> str:
    """Four digits, rounded so that it never flatters."""
    digits = Context(prec=4, rounding=ROUND_CEILING if rounding == "up" else ROUND_FLOOR).plus(value)
    return f"{float(digits):g}"
