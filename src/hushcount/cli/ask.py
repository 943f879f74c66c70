"""The verbs `count`, `top` and `vocab`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hushcount.cli.failures import told
from hushcount.cli.options import library_options, shared_options

if TYPE_CHECKING:
    from hushcount.app.request import Question


@click.command()
@shared_options
@click.option("--plot", metavar="PATH", help="Draw the counts to .png, .svg or .pdf.")
def count(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """How many people have each item."""
    _ask("count", given)


@click.command()
@shared_options
@click.option("-k", type=int, required=True, metavar="K", help="How many items to show.")
@click.option("--names-only", is_flag=True, help="Names without counts: cheaper.")
@click.option("--plot", metavar="PATH", help="Draw the counts to .png, .svg or .pdf.")
def top(**given: Any) -> None:  # noqa: ANN401  as above
    """The K items that most people have."""
    _ask("top", given)


@click.command()
@shared_options
def vocab(**given: Any) -> None:  # noqa: ANN401  as above
    """Which items may be named at all, without counts."""
    _ask("vocab", given)


def _ask(question: Question, given: dict[str, Any]) -> None:
    with told():
        from hushcount.app.request import make_request  # noqa: PLC0415  numpy and more: not for --help

        request = make_request(question, user=given["user"], item=given["item"], options=library_options(given))
        if given["dry_run"]:
            from hushcount.app.purse import known_balance  # noqa: PLC0415  as above
            from hushcount.app.questions import estimate_request  # noqa: PLC0415  as above
            from hushcount.cli.render import show_balance, show_estimate  # noqa: PLC0415  as above

            show_estimate(estimate_request(request), given)
            if not given["as_json"]:
                show_balance(known_balance(given["file"], ledger=given["ledger"]))
            return
        from hushcount.app.answer import answer  # noqa: PLC0415  as above
        from hushcount.app.purse import open_purse  # noqa: PLC0415  as above
        from hushcount.app.wiring import open_engine  # noqa: PLC0415  as above
        from hushcount.cli.render import check_outputs, show_release, show_standing, warn_of_row_id  # noqa: PLC0415  as above
        from hushcount.cli.stages import Stages  # noqa: PLC0415  as above

        check_outputs(given)
        warn_of_row_id(given["user"])
        with Stages(quiet=given["quiet"] or given["as_json"]) as stages:
            stages.say("opening the data")
            engine = open_engine(given["file"], given["engine"], table=given["table"], master=given["master"])
            purse = open_purse(given["file"], ledger=given["ledger"], analyst=given["analyst"], key=given["key"])
            release = answer(request, engine, purse, say=stages.say)
        show_release(release, given)
        show_standing(purse, release, given)
