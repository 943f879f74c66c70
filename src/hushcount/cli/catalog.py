"""The verbs under `catalog`: which data there is, by what it is recognised, and who a person is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from hushcount.cli.budget import ledger_options, opened_setting, print_rows
from hushcount.cli.failures import told

if TYPE_CHECKING:
    from hushcount.app.setting import Setting
    from hushcount.ledger.catalog import Catalog, Dataset
    from hushcount.model.identities import Identity, IdentityKind


@click.group(invoke_without_command=True)
@ledger_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def catalog(context: click.Context, /, **given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """All data sets that the ledger knows; a data set is registered by the first question about it."""
    if context.invoked_subcommand is not None:
        context.obj = given
        return
    with told():
        from hushcount.app.forms import dataset_form
        from hushcount.cli.render import printable, show_json

        with opened_setting(given) as setting:
            found = _catalog(setting).datasets(by=setting.analyst)
        if given["as_json"]:
            show_json([dataset_form(dataset) for dataset in found])
        elif found:
            rows = [
                (printable(one.name), printable(one.person or "not asked yet"), printable(one.population), one.by)
                for one in found
            ]
            print_rows(("data set", "people by", "account", "registered by"), rows)
            click.echo("\nData sets with the same account are about the same people. More: hushcount catalog show NAME")
        else:
            click.echo("No data set is known yet: the first question about one registers it.")


@catalog.command()
@click.argument("name", metavar="NAME")
@ledger_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
def show(name: str, **given: Any) -> None:  # noqa: ANN401  as above
    """Everything that is known of a data set: its person column, its facts, and what it was ever known by."""
    with told():
        from hushcount.app.forms import dataset_form
        from hushcount.cli.render import printable, show_json

        with opened_setting(given) as setting:
            shown = _catalog(setting).find(name, by=setting.analyst)
        if given["as_json"]:
            show_json(dataset_form(shown))
            return
        for line in _sentences(shown):
            click.echo(printable(line))


@catalog.command()
@click.argument("name", metavar="NAME")
@click.argument("new", metavar="NEW")
@ledger_options
def rename(name: str, new: str, **given: Any) -> None:  # noqa: ANN401  as above
    """Call a data set something else; for owners."""
    with told(), opened_setting(given) as setting:
        _catalog(setting).rename(name, new, by=setting.analyst)
        click.echo(f"The data set {name} is called {new} from now on; its budget is the same.")


@catalog.command()
@click.argument("name", metavar="NAME")
@click.argument("other", metavar="OTHER")
@ledger_options
def join(name: str, other: str, **given: Any) -> None:  # noqa: ANN401  as above
    """Say that two data sets are about the same people: they share one account; for owners."""
    with told(), opened_setting(given) as setting:
        found = _catalog(setting).join(name, other, by=setting.analyst)
        click.echo(f"{name} and {other} are about the same people: both are charged to the account {found.population},")
        click.echo("which has spent what the two had spent together.")


@catalog.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--identity", multiple=True, metavar="KIND:VALUE", help="Only this, as `show` prints it; may be repeated."
)
@click.option("--as", "new", metavar="NEW", help="With --identity: what the new data set is called.")
@ledger_options
def split(name: str, identity: tuple[str, ...], new: str | None, **given: Any) -> None:  # noqa: ANN401  as above
    """Say that a data set, or a part of what it is known by, is about other people; for owners."""
    with told(), opened_setting(given) as setting:
        found = _catalog(setting).split(
            name, by=setting.analyst, new=new, identities=tuple(_identity(text) for text in identity)
        )
        click.echo(f"{found.name} has an account of its own from now on: {found.population}.")
        click.echo("It starts with all that was spent so far, since the same people may have been in those answers.")


@catalog.command()
@click.argument("name", metavar="NAME")
@click.option("--user", required=True, metavar="COLUMN", help="The column that says who a row belongs to.")
@ledger_options
def repin(name: str, user: str, **given: Any) -> None:  # noqa: ANN401  as above
    """Change which column says who a person is; for owners."""
    with told(), opened_setting(given) as setting:
        _catalog(setting).repin(name, user, by=setting.analyst)
        click.echo(f"In {name} a person is who stands in column '{user}' from now on.")
        click.echo("What was spent before was added up for another kind of person: the sum bounds neither of them.")


@catalog.command()
@click.argument("name", metavar="NAME")
@click.option("--item", required=True, metavar="COLUMN", help="The item column that the facts are about.")
@click.option("--keys", metavar="LIST", help="A file with the public list of items, one per line.")
@click.option("--max-items-per-user", type=int, metavar="N", help="Nobody has more than N items.")
@click.option("--per-item-cap", type=int, metavar="N", help="One person adds at most N to a count.")
@ledger_options
def facts(**given: Any) -> None:  # noqa: ANN401  as above
    """Declare facts about an item column, for every question about it; none takes them back; for owners."""
    with told():
        from hushcount.app.items import read_list
        from hushcount.ledger.catalog import ColumnFacts

        declared = ColumnFacts(
            max_items=given["max_items_per_user"],
            per_item_cap=given["per_item_cap"],
            public_items=tuple(read_list(Path(given["keys"]))) if given["keys"] else None,
        )
        with opened_setting(given) as setting:
            _catalog(setting).declare(given["name"], {given["item"]: declared}, by=setting.analyst)
        word = "taken back" if declared == ColumnFacts() else "declared, and hold for every question about it"
        click.echo(f"The facts about column '{given['item']}' of {given['name']} are {word}.")


def _catalog(setting: Setting) -> Catalog:
    if setting.catalog is None:
        raise LookupError("a setting without a ledger")
    return setting.catalog


def _identity(text: str) -> Identity:
    from hushcount.model.identities import Identity

    kind, _, value = text.partition(":")
    return Identity(kind=cast("IdentityKind", kind), value=value)


def _sentences(dataset: Dataset) -> list[str]:
    lines = [
        f"Data set {dataset.name}, registered {dataset.made:%Y-%m-%d %H:%M} UTC by {dataset.by}",
        f"  a person is who stands in column: {dataset.person or 'not asked yet'}",
        f"  charged to the account: {dataset.population}",
    ]
    for column, declared in dataset.facts.items():
        listed = declared.public_items
        said = {
            "a public list of so many items": None if listed is None else len(listed),
            "items per person at most": declared.max_items,
            "one person adds to a count at most": declared.per_item_cap,
        }
        words = ", ".join(f"{what}: {value:,}" for what, value in said.items() if value is not None)
        lines.append(f"  declared of column {column}: {words}")
    lines.append("  known by:" if dataset.identities else "  what it is known by is for owners and auditors to see")
    return [*lines, *(f"    {identity}" for identity in dataset.identities)]
