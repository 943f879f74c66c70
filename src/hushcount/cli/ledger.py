"""The verbs under `ledger`: for owners, who set limits and roles, and for auditors, who check and read back."""

from __future__ import annotations

import csv
import json
import math
import shlex
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushcount.cli.budget import data_options, ledger_options, opened, opened_setting, print_deeds, print_rows
from hushcount.cli.failures import told

if TYPE_CHECKING:
    from hushcount.app.budgets import Suggestion
    from hushcount.app.catalog import DatasetLine
    from hushcount.app.setting import Setting
    from hushcount.ledger.ledger import Account, Ledger
    from hushcount.ledger.limits import Limit

_ROLES = ("owner", "analyst", "reader", "auditor", "program", "nobody")
_MEANS = {
    "owner": "sets limits, roles and groups, sees everything, and may ask.",
    "analyst": "asks, and sees what they did themselves.",
    "reader": "reads what was published and asks nothing.",
    "auditor": "sees everything and asks nothing.",
    "program": "asks as an analyst, through a service's budget only.",
    "nobody": "asks as an analyst, like whoever has no role.",
}


@click.group()
def ledger() -> None:
    """Limits, roles, history and proof of what was spent."""


@ledger.command()
@click.option("--all-orders", is_flag=True, help="Expert: costs of all Renyi orders, for limits in a small epsilon.")
@ledger_options
def found(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """Found a ledger at --ledger PLACE; you own it. The user's own is founded by the first question."""
    with told():
        from hushcount.app.wiring import found_ledger
        from hushcount.library.surroundings import look_around

        said = look_around(ledger=given["ledger"], analyst=given["analyst"])
        places = replace(said, owner=said.analyst)
        where = found_ledger(places, all_orders=given["all_orders"])
        click.echo(f"A ledger was founded at {where}; {places.analyst} owns it.")
        click.echo("Each data set starts with ten standard releases a month: hushcount ledger limit --all-data")


@ledger.command()
@ledger_options
@click.option("--against", metavar="LINKS", help="Links that --json wrote earlier: they must still be there.")
@click.option("--json", "as_json", is_flag=True, help="Print problems and last links as JSON.")
def verify(**given: Any) -> None:  # noqa: ANN401  as above
    """Compute every balance again from the log; exit with 1 if anything disagrees."""
    with told():
        from hushcount.app.budgets import read_links

        with opened_setting(given) as setting:
            anchors = read_links(Path(given["against"])) if given["against"] else None
            verdict = _ledger(setting).verify(anchors)
        if given["as_json"]:
            click.echo(json.dumps(asdict(verdict), ensure_ascii=True, indent=2))
        elif verdict.problems:
            click.echo("This ledger was changed by other means than hushcount, or is damaged:", err=True)
            for problem in verdict.problems:
                click.echo(f"  {problem}", err=True)
        else:
            count = sum(head.seq for head in verdict.heads)
            click.echo(f"The ledger is whole: {count:,} entries in {len(verdict.heads):,} books, each balance adds up.")
            click.echo("Keep the last links with --json: a ledger that is rewritten later cannot show them any more.")
        if verdict.problems:
            sys.exit(1)


@ledger.command()
@data_options
@ledger_options
@click.option("--all", "everything", is_flag=True, help="From the first entry on, not the last twenty only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def history(**given: Any) -> None:  # noqa: ANN401  as above
    """Who asked what of this data, at what price, and who changed its rules."""
    with told():
        from hushcount.app.forms import deed_form
        from hushcount.app.history import history as deeds_of
        from hushcount.cli.render import show_json

        with opened(given) as desk:
            deeds = deeds_of(desk, last=None if given["everything"] else 20)
        if given["as_json"]:
            show_json([deed_form(deed) for deed in deeds])
        elif deeds:
            print_deeds(deeds)
        else:
            click.echo("Nothing yet that you may see.")


@ledger.command()
@ledger_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table.")
def report(**given: Any) -> None:  # noqa: ANN401  as above
    """All data sets: who a person is, what was spent, what is left, when it is renewed."""
    with told():
        from hushcount.app.catalog import report as lines_of
        from hushcount.app.forms import line_form
        from hushcount.cli.render import show_json

        with opened_setting(given) as setting:
            lines = lines_of(setting)
        if given["as_json"]:
            show_json([line_form(line) for line in lines])
            return
        heads = ("data set", "people by", "account", "questions", "spent", "left", "ever", "renews")
        rows = [_report_row(line) for line in lines]
        if given["as_csv"]:
            csv.writer(sys.stdout).writerows([heads, *rows])
        elif rows:
            print_rows(heads, rows)
            click.echo("\nAmounts in standard releases. Data sets with the same account are about the same people.")
        else:
            click.echo("No data set is known yet: the first question about one registers it.")


@ledger.command()
@click.option("--data", metavar="FILE", help="For this data.")
@click.option("--dataset", metavar="NAME", help="For this data set of the catalog.")
@click.option("--table", metavar="NAME", help="The table, where --data is a database with several.")
@click.option("--all-data", is_flag=True, help="For every data set that has no limit of its own.")
@click.option("--for-analyst", metavar="NAME", help="For one analyst on that data, or '*' for each.")
@click.option("--for-group", metavar="NAME", help="For one group on that data, or '*' for each.")
@click.option("--releases", metavar="N", help="So many standard releases.")
@click.option("--rho", metavar="X", help="Expert: with --delta.")
@click.option("--epsilon", metavar="X", help="Expert: with --delta, for everything in a window together.")
@click.option("--delta", metavar="X", help="Expert: with --rho or --epsilon.")
@click.option("--information", type=int, metavar="K", help="Expert: LinkedIn's information units, with --calls.")
@click.option("--calls", type=int, metavar="L", help="Expert: LinkedIn's call units.")
@click.option("--epsilon-per", metavar="E", help="Expert: of one information unit, 0.15 unless said otherwise.")
@click.option("--delta-per-call", metavar="D", help="Expert: of one call unit, 1e-10 unless said otherwise.")
@click.option("--none", is_flag=True, help="Lift the limit; a more general one then holds, if there is one.")
@click.option("--window", type=click.Choice(("day", "week", "month", "none")), default="month", show_default=True)
@click.option("--track", is_flag=True, help="Refuse nothing: only count, and mark what goes over.")
@ledger_options
def limit(**given: Any) -> None:  # noqa: ANN401  as above
    """Set or lift a limit; for owners."""
    with told():
        from hushcount.app.budgets import account, make_limit
        from hushcount.errors import InvalidParameter

        if bool(given["data"] or given["dataset"]) == given["all_data"]:
            hint = "Write --data FILE, --dataset NAME, or else --all-data."
            raise InvalidParameter("data", given["data"], "a file, a data set, or all", hint)
        made = make_limit(given, window=given["window"], mode="track" if given["track"] else "enforce")
        names = {"analyst": given["for_analyst"], "group": given["for_group"]}
        if given["all_data"]:
            with opened_setting(given, founds=True) as setting:
                _set_limit(_ledger(setting), account("*", **names), made, by=setting.analyst)
        else:
            with opened(given, file=given["data"], enters=True) as desk:
                _set_limit(desk.ledger, account(desk.population, **names), made, by=desk.by)


@ledger.command()
@click.argument("person", metavar="PERSON")
@click.argument("role", type=click.Choice(_ROLES))
@ledger_options
def grant(**given: Any) -> None:  # noqa: ANN401  as above
    """Make somebody an owner, an analyst or an auditor, or take their role away; for owners."""
    with told():
        role = given["role"]
        with opened_setting(given, founds=True) as setting:
            _ledger(setting).grant(given["person"], None if role == "nobody" else role, by=setting.analyst)
        click.echo(f"{given['person']} is now {role}: {_MEANS[role]}")


@ledger.command()
@click.argument("member", metavar="ANALYST")
@click.argument("group", metavar="GROUP")
@click.option("--leave", is_flag=True, help="Take them out.")
@ledger_options
def enroll(**given: Any) -> None:  # noqa: ANN401  as above
    """Put an analyst into a group whose members share a budget, or take them out; for owners."""
    with told():
        member, group = given["member"], given["group"]
        with opened_setting(given, founds=True) as setting:
            _ledger(setting).enroll(member, group, by=setting.analyst, member=not given["leave"])
        if given["leave"]:
            click.echo(f"{member} is no longer in the group {group}; what was charged to it before stays charged.")
        else:
            click.echo(f"{member} is in the group {group}: what they ask from now on is charged to it as well.")


@ledger.command()
@click.option("--accept", "deed", flag_value="accept", help="The clock is right: go on from the present moment.")
@click.option("--repair", "deed", flag_value="repair", help="The clock was ahead: take the time back, free nothing.")
@ledger_options
def clock(**given: Any) -> None:  # noqa: ANN401  as above
    """Say that the clock is right although it looks wrong, so that questions go on; for owners."""
    with told():
        from hushcount.errors import InvalidParameter

        if given["deed"] is None:
            raise InvalidParameter("clock", None, "said to be right", "Write --accept, or --repair.")
        with opened_setting(given) as setting:
            click.echo(_ledger(setting).set_clock(given["deed"], by=setting.analyst))


@ledger.command()
@click.option("--lower", metavar="A", help="Expert: know costs for Renyi orders up to this from now on; for owners.")
@ledger_options
def orders(**given: Any) -> None:  # noqa: ANN401  as above
    """For which Renyi orders this ledger knows its costs, and by which it tells an epsilon."""
    with told():
        from hushcount.model.amounts import amount

        with opened_setting(given) as setting:
            kept = _ledger(setting)
            if given["lower"] is not None:
                kept.lower_order(amount("lower", given["lower"]), by=setting.analyst)
            known = "all Renyi orders" if kept.order.is_infinite() else f"Renyi orders up to {kept.order.normalize():f}"
        click.echo(f"Costs are known for {known}. Sums are told as epsilon by these orders alone.")


@ledger.command()
@data_options
@click.option("--share", default="0.95", show_default=True, metavar="S", help="Leave this share of analysts alone.")
@click.option("--window", type=click.Choice(("day", "week", "month")), default="month", show_default=True)
@click.option("--plot", metavar="PATH", help="Draw who would exceed which limit to .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@ledger_options
def propose(**given: Any) -> None:  # noqa: ANN401  as above
    """A limit for each analyst from what they did so far; for owners and auditors."""
    with told():
        from hushcount.app.budgets import suggest
        from hushcount.app.forms import suggestion_form
        from hushcount.app.plots.counts import require_picture
        from hushcount.cli.render import show_json

        if given["plot"]:
            require_picture(Path(given["plot"]))
        with opened(given) as desk:
            suggestion, title = suggest(desk, share=given["share"], window=given["window"]), desk.title
        if given["plot"]:
            from hushcount.app.plots.limits import draw

            draw(suggestion, Path(given["plot"]))
        if given["as_json"]:
            show_json(suggestion_form(suggestion))
        else:
            _tell_suggestion(suggestion, given, title)


def _ledger(setting: Setting) -> Ledger:
    if setting.ledger is None:
        raise LookupError("a setting without a ledger")
    return setting.ledger


def _report_row(line: DatasetLine) -> tuple[str, ...]:
    from hushcount.app.words import in_releases, rest
    from hushcount.cli.render import printable

    dataset, balance = line.dataset, line.balance
    left = "no limit" if balance.left is None or balance.limit is None else f"{rest(balance.left, balance.limit):.3g}"
    return (
        printable(dataset.name),
        printable(dataset.person or "not asked yet"),
        printable(dataset.population),
        f"{balance.queries}",
        f"{in_releases(balance.spent):.3g}",
        left,
        f"{in_releases(balance.lifetime):.3g}",
        "" if balance.renews is None else f"{balance.renews:%Y-%m-%d}",
    )


def _set_limit(ledger: Ledger, target: Account, made: Limit | None, *, by: str) -> None:
    ledger.set_limit(target, made, by=by)
    _tell_limit(ledger, target, made)


def _tell_limit(ledger: Ledger, target: Account, made: Limit | None) -> None:
    """Say what holds now, and what its renewal means."""
    from hushcount.app.words import limit_note, limit_words, whose
    from hushcount.ledger.windows import renewal

    # Another rule may hold once one is lifted.
    holds = made or ledger.balance(target).limit
    click.echo(f"The limit of {whose(target)} is now: {limit_words(holds)}.")
    if holds is not None:
        click.echo(renewal(holds.window))
        if holds.mode == "track":
            click.echo("Nothing is refused: what goes over is counted and marked. See: hushcount ledger propose")
    if note := limit_note(holds):
        click.echo(note)


def _tell_suggestion(suggestion: Suggestion, given: dict[str, Any], title: str) -> None:
    from hushcount.app.forms import suggestion_form
    from hushcount.app.words import standard_releases

    proposal, window = suggestion.proposal, given["window"]
    click.echo(
        f"{proposal.analysts:,} analysts asked so far. With {standard_releases(suggestion.releases)} a {window} "
        f"each, at least {math.floor(100 * proposal.share)} % of them would never have been stopped."
    )
    if proposal.stopped:
        click.echo(f"These may have been: {', '.join(proposal.stopped)}.")
    click.echo("\nShare of analysts who would have gone over a limit, by days since their budget was renewed:")
    days = [day for day in (1, 2, 7, 14, 31) if day <= len(suggestion.curves[0].shares)] if suggestion.curves else []
    rows = [
        (_limit_name(form), *(f"{100 * form['shares'][day - 1]:.0f} %" for day in days))
        for form in suggestion_form(suggestion)["curves"]
    ]
    print_rows(("limit", *(f"day {day}" for day in days)), rows)
    click.echo("\nTo set it:")
    click.echo(
        f"  hushcount ledger limit --dataset {shlex.quote(title)} --for-analyst '*' --releases {suggestion.releases} "
        f"--window {window}"
    )
    if given["plot"]:
        click.echo(f"Written: {given['plot']}")


def _limit_name(form: dict[str, Any]) -> str:
    from hushcount.app.words import standard_releases

    part = "by noise" if form["part"] == "noise" else "by the chance of naming a rare item"
    return f"{standard_releases(form['releases'])}, {part}"
