"""The verbs under `ledger`: for owners, who set limits and roles, and for auditors, who check and read back."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushcount.cli.budget import deed_form, ledger_options, open_aloud, print_deeds, print_rows
from hushcount.cli.failures import told

if TYPE_CHECKING:
    from hushcount.app.budgets import Suggestion
    from hushcount.app.purse import Purse
    from hushcount.ledger.ledger import Account, Ledger
    from hushcount.ledger.limits import Limit

_ROLES = ("owner", "analyst", "auditor", "nobody")
_MEANS = {
    "owner": "sets limits, roles and groups, sees everything, and may ask.",
    "analyst": "asks, and sees what they did themselves.",
    "auditor": "sees everything and asks nothing.",
    "nobody": "asks as an analyst, like whoever has no role.",
}


@click.group()
def ledger() -> None:
    """Limits, roles, history and proof of what was spent."""


@ledger.command()
@click.option("--ledger", metavar="PLACE", help="Where spending is kept: a file or a PostgreSQL address.")
@click.option("--against", metavar="LINKS", help="Links that --json wrote earlier: they must still be there.")
@click.option("--json", "as_json", is_flag=True, help="Print problems and last links as JSON.")
def verify(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """Compute every balance again from the log; exit with 1 if anything disagrees."""
    with told():
        from hushcount.app.budgets import read_links, require_ledger  # noqa: PLC0415  numpy and more: not for --help

        require_ledger(given["ledger"])
        verdict = _open(given).ledger.verify(read_links(Path(given["against"])) if given["against"] else None)
        if given["as_json"]:
            click.echo(json.dumps(asdict(verdict), ensure_ascii=False, indent=2))
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
@click.argument("file", metavar="FILE")
@ledger_options
@click.option("--all", "everything", is_flag=True, help="From the first entry on, not the last twenty only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def history(**given: Any) -> None:  # noqa: ANN401  as above
    """Who asked what of this data, at what price, and who changed its rules."""
    with told():
        from hushcount.app.budgets import history as deeds_of  # noqa: PLC0415  as above

        deeds = deeds_of(open_aloud(given["file"], given, looking_back=True), last=None if given["everything"] else 20)
        if given["as_json"]:
            click.echo(json.dumps([deed_form(deed) for deed in deeds], ensure_ascii=False, indent=2))
        elif deeds:
            print_deeds(deeds)
        else:
            click.echo("Nothing yet that you may see.")


@ledger.command()
@click.option("--data", metavar="FILE", help="For this data.")
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
        from hushcount.app.budgets import account, make_limit, open_desk  # noqa: PLC0415  as above
        from hushcount.errors import InvalidParameter  # noqa: PLC0415  as above

        if bool(given["data"]) == given["all_data"]:
            raise InvalidParameter("data", given["data"], "a file, or all", "Write --data FILE, or else --all-data.")
        made = make_limit(given, window=given["window"], mode="track" if given["track"] else "enforce")
        names = {"analyst": given["for_analyst"], "group": given["for_group"]}
        if given["all_data"]:
            purse, target = _open(given), account("*", **names)
        else:
            desk = open_desk(given["data"], ledger=given["ledger"], analyst=given["analyst"])
            purse, target = desk.purse, account(desk.entity, **names)
        purse.ledger.set_limit(target, made, by=purse.analyst)
        _tell_limit(purse.ledger, target, made)


@ledger.command()
@click.argument("person", metavar="PERSON")
@click.argument("role", type=click.Choice(_ROLES))
@ledger_options
def grant(**given: Any) -> None:  # noqa: ANN401  as above
    """Make somebody an owner, an analyst or an auditor, or take their role away; for owners."""
    with told():
        purse, role = _open(given), given["role"]
        purse.ledger.grant(given["person"], None if role == "nobody" else role, by=purse.analyst)
        click.echo(f"{given['person']} is now {role}: {_MEANS[role]}")


@ledger.command()
@click.argument("member", metavar="ANALYST")
@click.argument("group", metavar="GROUP")
@click.option("--leave", is_flag=True, help="Take them out.")
@ledger_options
def enroll(**given: Any) -> None:  # noqa: ANN401  as above
    """Put an analyst into a group whose members share a budget, or take them out; for owners."""
    with told():
        purse, member, group = _open(given), given["member"], given["group"]
        purse.ledger.enroll(member, group, by=purse.analyst, member=not given["leave"])
        if given["leave"]:
            click.echo(f"{member} is no longer in the group {group}; what was charged to it before stays charged.")
        else:
            click.echo(f"{member} is in the group {group}: what they ask from now on is charged to it as well.")


@ledger.command()
@click.argument("file", metavar="FILE")
@click.option("--share", default="0.95", show_default=True, metavar="S", help="Leave this share of analysts alone.")
@click.option("--window", type=click.Choice(("day", "week", "month")), default="month", show_default=True)
@click.option("--plot", metavar="PATH", help="Draw who would exceed which limit to .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@ledger_options
def propose(**given: Any) -> None:  # noqa: ANN401  as above
    """A limit for each analyst from what they did so far; for owners and auditors."""
    with told():
        from hushcount.app.budgets import suggest  # noqa: PLC0415  as above
        from hushcount.app.plots.counts import require_picture  # noqa: PLC0415  as above

        if given["plot"]:
            require_picture(Path(given["plot"]))
        desk = open_aloud(given["file"], given, looking_back=True)
        suggestion = suggest(desk, share=given["share"], window=given["window"])
        if given["plot"]:
            from hushcount.app.plots.limits import draw  # noqa: PLC0415  an extra

            draw(suggestion, Path(given["plot"]))
        if given["as_json"]:
            click.echo(json.dumps(_suggestion_form(suggestion), ensure_ascii=False, indent=2))
        else:
            _tell_suggestion(suggestion, given)


def _open(given: dict[str, Any]) -> Purse:
    """The ledger without any data."""
    from hushcount.app.purse import open_purse  # noqa: PLC0415  as above

    return open_purse("", ledger=given["ledger"], analyst=given.get("analyst"))


def _tell_limit(ledger: Ledger, target: Account, made: Limit | None) -> None:
    """Say what holds now, and what its renewal means."""
    from hushcount.app.budgets import limit_words, whose  # noqa: PLC0415  as above
    from hushcount.ledger.windows import renewal  # noqa: PLC0415  as above

    # Another rule may hold once one is lifted.
    holds = made or ledger.balance(target).limit
    click.echo(f"The limit of {whose(target)} is now: {limit_words(holds)}.")
    if holds is not None:
        click.echo(renewal(holds.window))
        if holds.mode == "track":
            click.echo("Nothing is refused: what goes over is counted and marked. See: hushcount ledger propose")


def _tell_suggestion(suggestion: Suggestion, given: dict[str, Any]) -> None:
    from hushcount.app.budgets import standard_releases  # noqa: PLC0415  as above

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
        for form in _suggestion_form(suggestion)["curves"]
    ]
    print_rows(("limit", *(f"day {day}" for day in days)), rows)
    click.echo("\nTo set it:")
    click.echo(
        f"  hushcount ledger limit --data {given['file']} --for-analyst '*' --releases {suggestion.releases} "
        f"--window {window}"
    )
    if given["plot"]:
        click.echo(f"Written: {given['plot']}")


def _limit_name(form: dict[str, Any]) -> str:
    from hushcount.app.budgets import standard_releases  # noqa: PLC0415  as above

    part = "by noise" if form["part"] == "noise" else "by the chance of naming a rare item"
    return f"{standard_releases(form['releases'])}, {part}"


def _suggestion_form(suggestion: Suggestion) -> dict[str, Any]:
    from hushcount.app.budgets import STANDARD  # noqa: PLC0415  as above

    proposal = suggestion.proposal
    return {
        "releases": suggestion.releases,
        "rho": str(proposal.limit.ceiling.rho),
        "delta": str(proposal.limit.ceiling.delta),
        "window": proposal.limit.window,
        "share": proposal.share,
        "analysts": proposal.analysts,
        "stopped": list(proposal.stopped),
        "curves": [
            {
                "part": "noise" if curve.measure == "rho" else "rare items",
                "releases": float(curve.limit / getattr(STANDARD, curve.measure)),
                "limit": str(curve.limit),
                "shares": list(curve.shares),
            }
            for curve in suggestion.curves
        ],
    }
