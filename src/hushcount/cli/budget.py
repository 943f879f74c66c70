"""The verb `budget`: what is left for this data, when it is renewed, and who spent it on what."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hushcount.cli.failures import told

if TYPE_CHECKING:
    from hushcount.accounting.spent import Spent
    from hushcount.app.budgets import Deed, Desk, Standing
    from hushcount.ledger.ledger import Balance
    from hushcount.ledger.limits import Limit, Rounding

_Command = TypeVar("_Command", bound=Callable[..., Any])


def ledger_options(command: _Command) -> _Command:
    """Add the options that say which ledger, and who stands before it."""
    who = click.option("--analyst", metavar="NAME", help="Who you are, if not the user of this computer.")
    place = click.option("--ledger", metavar="PLACE", help="Where spending is kept: a file or a PostgreSQL address.")
    return place(who(command))


@click.command()
@click.argument("file", metavar="FILE")
@ledger_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@click.option("--expert", is_flag=True, help="Also in rho, epsilon, delta and LinkedIn's units.")
def budget(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """What is left for this data, when it is renewed, and who spent it on what."""
    with told():
        from hushcount.app.budgets import look  # noqa: PLC0415  numpy and more: not for --help

        desk = open_aloud(given["file"], given)
        standing = look(desk)
        if given["as_json"]:
            click.echo(json.dumps(_form(desk, standing), ensure_ascii=False, indent=2))
            return
        for line in _sentences(desk, standing):
            click.echo(line)
        if given["expert"]:
            click.echo()
            _show_numbers(standing)
        if standing.deeds:
            everybody = "everybody's" if standing.sees_all else "yours; owners and auditors see everybody's"
            click.echo(f"\nThe last charges ({everybody}):")
            print_deeds(standing.deeds)


def open_aloud(file: str, given: dict[str, Any], *, looking_back: bool = False) -> Desk:
    """Open ledger and data, and say so if it takes long."""
    from hushcount.app.budgets import open_desk  # noqa: PLC0415  as above
    from hushcount.cli.stages import Stages  # noqa: PLC0415  as above

    with Stages(quiet=bool(given.get("as_json"))) as stages:
        stages.say("looking at the data's version")
        return open_desk(file, ledger=given["ledger"], analyst=given["analyst"], looking_back=looking_back)


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of texts, each column as wide as it needs."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for number, row in enumerate((headings, *rows)):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.secho(f"  {line}", bold=number == 0)


def print_deeds(deeds: Sequence[Deed]) -> None:
    """Questions and changes of rules, one on each line."""
    from hushcount.app.budgets import in_releases  # noqa: PLC0415  as above

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


def deed_form(deed: Deed) -> dict[str, Any]:
    """A deed as JSON."""
    return {
        "when": deed.when.isoformat(timespec="seconds"),
        "who": deed.who,
        "what": deed.what,
        "outcome": deed.outcome,
        "mode": None if deed.spent is None else deed.mode,
        "over": deed.over,
        "spent": None if deed.spent is None else {"rho": str(deed.spent.rho), "delta": str(deed.spent.delta)},
    }


def _sentences(desk: Desk, standing: Standing) -> list[str]:
    """What is left in plain words: the data set's budget first, then the asker's own and their groups'."""
    from hushcount.ledger.windows import renewal  # noqa: PLC0415  as above

    dataset, *others = standing.balances
    lines = [f"Budget of {desk.purse.dataset}", "", _left("This data", dataset)]
    lines += [_left(_name(balance, desk.by), balance) for balance in others if balance.limit is not None]
    if standing.more is None:
        lines.append("Nothing is refused at present.")
    else:
        lines.append(f"That is about {standing.more:,} more questions like a standard count{_for_whom(others, desk)}.")
    if dataset.limit is not None:
        lines.append(renewal(dataset.limit.window))
    lines.append("The same question on the same data is answered again for free.")
    return [*lines, "", *(_spent(_name(balance, desk.by), balance) for balance in standing.balances)]


def _left(name: str, balance: Balance) -> str:
    from hushcount.app.budgets import limit_words, room  # noqa: PLC0415  as above

    limit = balance.limit
    if limit is None or balance.left is None:
        return f"{name}: nothing limits what may be asked."
    if limit.mode == "track" and min(balance.left.rho, balance.left.delta) < 0:
        return f"{name}: OVER ITS LIMIT of {limit_words(limit)}; questions still go through and are marked."
    return f"{name}: {room(balance.left, limit):.3g} left of {limit_words(limit)}, {_renewed(balance)}."


def _for_whom(others: Sequence[Balance], desk: Desk) -> str:
    return f" for {desk.by}" if any(balance.limit is not None for balance in others) else ""


def _renewed(balance: Balance) -> str:
    if balance.limit is not None and balance.limit.window == "none":
        return "never renewed"
    if balance.renews is None:
        return "from the next question on"
    return f"renewed on {balance.renews:%d %B %Y}"


def _spent(name: str, balance: Balance) -> str:
    from hushcount.app.budgets import in_releases  # noqa: PLC0415  as above

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
    return f"Your own account ({by})" if account.kind == "analyst" else f"Your group '{account.name}'"


def _show_numbers(standing: Standing) -> None:
    """The same amounts in all three currencies."""
    rows = []
    for balance in standing.balances:
        for what, spent, rounding in _amounts(balance):
            shown = _shown(spent, balance.limit, rounding)
            epsilon = "none" if shown["epsilon"] is None else f"{shown['epsilon']:.4g}"
            rows.append(
                (
                    f"{balance.account.kind} {what}",
                    *(_short(getattr(spent, name), rounding) for name in ("rho", "delta")),
                    f"({epsilon}, {float(shown['epsilon_delta']):.2g})",
                    f"{shown['information']:,} of {shown['epsilon_per']}",
                    f"{shown['calls']:,} of {float(shown['delta_per_call']):.2g}",
                )
            )
    print_rows(("", "rho", "delta", "(epsilon, delta)", "information units", "call units"), rows)


def _short(value: Decimal, rounding: Rounding) -> str:
    """Four digits, rounded so that it never flatters."""
    digits = Context(prec=4, rounding=ROUND_CEILING if rounding == "up" else ROUND_FLOOR).plus(value)
    return f"{float(digits):g}"


def _amounts(balance: Balance) -> list[tuple[str, Spent, Rounding]]:
    amounts: list[tuple[str, Spent, Rounding]] = [
        ("spent", balance.spent, "up"),
        ("held", balance.reserved, "up"),
        ("ever", balance.lifetime, "up"),
    ]
    if balance.limit is not None and balance.left is not None:
        amounts += [("limit", balance.limit.ceiling, "down"), ("left", balance.left, "down")]
    return amounts


def _shown(spent: Spent, limit: Limit | None, rounding: Rounding) -> dict[str, Any]:
    """One amount in all currencies, as JSON; exact amounts are texts, an infinite epsilon is null."""
    from hushcount.ledger.limits import show  # noqa: PLC0415  as above

    shown = show(spent, limit, rounding=rounding)
    return {
        "rho": str(shown.rho),
        "delta": str(shown.delta),
        "epsilon": None if math.isinf(shown.epsilon) else shown.epsilon,
        "epsilon_delta": str(shown.epsilon_delta),
        "information": shown.information,
        "calls": shown.calls,
        "epsilon_per": str(shown.epsilon_per),
        "delta_per_call": str(shown.delta_per_call),
    }


def _form(desk: Desk, standing: Standing) -> dict[str, Any]:
    """Everything, for a machine."""
    return {
        "dataset": desk.purse.dataset,
        "data_version": desk.version,
        "analyst": desk.by,
        "more_standard_counts": standing.more,
        "accounts": [_account_form(balance) for balance in standing.balances],
        "everybody": standing.sees_all,
        "charges": [deed_form(deed) for deed in standing.deeds],
    }


def _account_form(balance: Balance) -> dict[str, Any]:
    from hushcount.app.budgets import in_releases, room  # noqa: PLC0415  as above
    from hushcount.ledger.windows import renewal  # noqa: PLC0415  as above

    limit, left = balance.limit, balance.left
    return {
        "kind": balance.account.kind,
        "name": balance.account.name,
        "mode": None if limit is None else limit.mode,
        "window": None if limit is None else limit.window,
        "renewal": None if limit is None else renewal(limit.window),
        "renews": None if balance.renews is None else balance.renews.isoformat(timespec="seconds"),
        "questions": balance.queries,
        "releases": {
            "limit": None if limit is None else room(limit.ceiling, limit),
            "left": None if limit is None or left is None else room(left, limit),
            "spent": in_releases(balance.spent),
            "ever": in_releases(balance.lifetime),
        },
        **{what: _shown(spent, limit, rounding) for what, spent, rounding in _amounts(balance)},
    }
