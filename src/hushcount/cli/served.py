"""Questions and budgets with `--server`: asked of a service, shown as if they were asked here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import click

if TYPE_CHECKING:
    from hushcount.app.receipt import Receipt
    from hushcount.model.queries import Verb
    from hushcount_client import Estimate, Options

# Options that only make sense where the data is, and why.
_HERE = {
    "user": "The data set says which column is the person.",
    "engine": "The server reads the data.",
    "master": "The server reads the data.",
    "table": "The data set says which table it is.",
    "dataset": "Name the data set in place of FILE.",
    "ledger": "The server keeps the ledger.",
    "analyst": "The token says who asks.",
    "expert": "Write --json for all numbers.",
}


def ask(question: Verb, given: dict[str, Any]) -> None:
    """Ask a service, and show its answer."""
    from hushcount.cli import render
    from hushcount.cli.options import items_of
    from hushcount.cli.stages import Stages
    from hushcount.library import remote

    _require_apart(given)
    options = _options(given)
    connection = remote.connect(given["server"])
    if given["dry_run"]:
        _show_estimate(connection.estimate(given["file"], item=items_of(given), question=question, **options), given)
        return
    # FILE is no file, so nothing that is written could be it.
    render.check_outputs({**given, "file": None})
    key = options.setdefault("key", remote.make_key())
    with Stages(quiet=given["quiet"] or given["as_json"]) as stages:
        stages.say("asking the server")
        options["say"] = stages.say
        try:
            release, left = remote.ask(connection, question, given["file"], item=items_of(given), options=options)
        except KeyboardInterrupt:
            render.show_note(f"the server goes on. To have its answer without paying again, add: --key {key}")
            raise
    for note in release.notes:
        render.show_note(note)
    _keep(release.receipt)
    render.show_release(release, given)
    if left is not None and not given["quiet"] and not given["as_json"]:
        click.echo(_left(left))


def show_budget(given: dict[str, Any]) -> None:
    """Show what is left of a data set's budget, as the service tells it."""
    from hushcount.cli.render import printable, show_json
    from hushcount.errors import InvalidParameter
    from hushcount.library import remote

    _require_apart(given)
    if not given["file"]:
        raise InvalidParameter("data", None, "named", "Write the data set's name there in place of FILE.")
    form = remote.connect(given["server"]).budget(given["file"])
    lines = _budget_lines(form)
    if given["as_json"] or not lines:
        show_json(form, ours=False)
        return
    click.echo(f"Budget of {printable(given['file'])}\n")
    for line in lines:
        click.echo(printable(line))


def _require_apart(given: Mapping[str, Any]) -> None:
    """Refuse what makes no sense at a server: an option that is ignored would be taken for one that was obeyed."""
    from hushcount.errors import InvalidParameter

    for name, why in _HERE.items():
        if given.get(name):
            raise InvalidParameter(
                name, given[name], "left out with --server", f"{why} To ask here instead, add: --server ''"
            )


def _options(given: dict[str, Any]) -> Options:
    """The options of a question in the client's names, which are the library's."""
    from hushcount.cli.options import library_options

    return cast("Options", dict(library_options(given)))


def _keep(receipt: Receipt) -> None:
    """Keep the receipt where those of questions that were asked here are, so that `hushcount receipt` finds it."""
    from hushcount.app.receipts import keep
    from hushcount.library.surroundings import look_around

    keep(receipt, look_around().home / "receipts")


def _show_estimate(estimate: Estimate, given: dict[str, Any]) -> None:
    from hushcount.app.words import about
    from hushcount.cli.render import printable, show_json

    if given["as_json"]:
        show_json(estimate.to_dict(), ours=False)
        return
    click.echo("No data was read. This question")
    click.echo(f"  costs at most {about(estimate.releases)};")
    method = estimate.method
    if method.get("name"):
        click.echo(printable(f"  is answered by {method.get('reason') or method['name']};"))
    if estimate.give_or_take is not None:
        click.echo(f"  gives counts that are right give or take {estimate.give_or_take:,} people, 95 times in 100;")
    if estimate.cutoff is not None:
        click.echo(f"  shows items from about {estimate.cutoff:,.0f} people on.")
    if estimate.fits is False:
        click.echo("It does not fit into what is left.")
    if estimate.left:
        click.echo(printable(str(estimate.left.get("sentence") or _left(estimate.left))))


def _left(left: Mapping[str, Any]) -> str:
    """What is left after a question, in the words that are used for data at hand."""
    amount = left.get("releases")
    if not isinstance(amount, int | float):
        return "Nothing limits what may still be asked of this data."
    return f"Left for this data: {amount:.3g} standard releases{_renewed(left.get('renews'))}."


def _renewed(moment: object) -> str:
    try:
        return f", renewed {datetime.fromisoformat(str(moment)):%d %B %Y}"
    except ValueError:
        return ""


def _budget_lines(form: Mapping[str, Any]) -> list[str]:
    """What is left, in sentences; none if the service tells it in a form that is not known here."""
    left = form.get("left")
    lines = [_left({"renews": form.get("renews"), **left})] if isinstance(left, dict) and "releases" in left else []
    lines += [str(place["sentence"]) for place in (left, form) if isinstance(place, dict) and place.get("sentence")]
    accounts = form.get("accounts")
    lines += [_account(one) for one in accounts if isinstance(one, dict)] if isinstance(accounts, list) else []
    lifetime = form.get("lifetime")
    if isinstance(lifetime, dict) and isinstance(lifetime.get("releases"), int | float):
        lines.append(f"Spent ever: {lifetime['releases']:.3g} standard releases.")
    return lines


def _account(form: Mapping[str, Any]) -> str:
    """One account as `hushcount budget --json` has it."""
    name = "This data" if form.get("kind") == "dataset" else f"{str(form.get('kind')).capitalize()} {form.get('name')}"
    amounts = form.get("releases")
    left = amounts.get("left") if isinstance(amounts, dict) else None
    if not isinstance(left, int | float):
        return f"{name}: nothing limits what may be asked."
    window = "" if form.get("window") in {None, "none"} else f" this {form['window']}"
    return f"{name}: {left:.3g} standard releases left{window}{_renewed(form.get('renews'))}."
