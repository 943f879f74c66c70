"""The verbs `count`, `top`, `vocab` and `people`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hushcount.cli.failures import told
from hushcount.cli.options import Once, items_of, library_options, people_options, shared_options

if TYPE_CHECKING:
    from hushcount.model.queries import Verb


@click.command(cls=Once)
@shared_options
@click.option("--plot", metavar="PATH", help="Draw the counts to .png, .svg or .pdf.")
def count(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """How many people have each item."""
    _ask("count", given)


@click.command(cls=Once)
@shared_options
@click.option("-k", type=int, required=True, metavar="K", help="How many items to show.")
@click.option("--names-only", is_flag=True, help="Names without counts: cheaper.")
@click.option("--plot", metavar="PATH", help="Draw the counts to .png, .svg or .pdf.")
def top(**given: Any) -> None:  # noqa: ANN401  as above
    """The K items that most people have."""
    _ask("top", given)


@click.command(cls=Once)
@shared_options
def vocab(**given: Any) -> None:  # noqa: ANN401  as above
    """Which items may be named at all, without counts."""
    _ask("vocab", given)


@click.command(cls=Once)
@people_options
def people(**given: Any) -> None:  # noqa: ANN401  as above
    """How many people there are in all, or by groups of a public list (--by and --keys)."""
    _ask("people", given)


def _ask(question: Verb, given: dict[str, Any]) -> None:
    if not given["server"] and given["user"] is None:
        # Only a server knows by itself which column is the person.
        raise click.MissingParameter(ctx=click.get_current_context(), param_hint="'--user'", param_type="option")
    with told():
        if given["server"]:
            from hushcount.cli import served

            served.ask(question, given)
            return
        from hushcount.cli import render
        from hushcount.cli.stages import Stages
        from hushcount.cli.standard_input import as_file
        from hushcount.library.questions import Asked, ask, check, price

        options = library_options(given)
        asked = Asked(
            question=question, source=given["file"], user=given["user"], item=items_of(given), options=options
        )
        if given["dry_run"]:
            # What comes in can be read only once, and is not read for a price.
            looked = "Nothing was read from standard input." if given["file"] == "-" else check(asked)
            render.show_estimate(*price(asked), given, looked=looked)
            return
        render.check_outputs(given)
        render.warn_of_row_id(given["user"])
        with as_file(given["file"]) as file, Stages(quiet=given["quiet"] or given["as_json"]) as stages:
            stages.say("opening the data")
            release, left = ask(replace(asked, source=file), say=stages.say, note=render.show_note)
        render.show_release(release, given)
        render.show_left(left, given)
