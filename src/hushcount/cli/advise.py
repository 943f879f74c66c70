"""The verb `advise`: parameters for limits in LinkedIn's units, from what three simple attacks may achieve."""

from __future__ import annotations

import math
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

import click

from hushcount.cli.budget import print_rows
from hushcount.cli.failures import told

if TYPE_CHECKING:
    from hushcount.ledger.advisor import Advice, Goals


@click.command()
@click.option("--repeats", default=30, show_default=True, metavar="N", help="How often one count may be drawn anew.")
@click.option("--averaging", default="0.1", show_default=True, metavar="P", help="Chance that averaging them succeeds.")
@click.option(
    "--calls", default=30, show_default=True, metavar="L", help="Questions without a public list in a window."
)
@click.option("--unique", default="1e-8", show_default=True, metavar="P", help="Chance that one shows a single person.")
@click.option("--epsilon-per", metavar="E", help="A choice instead of that from --averaging; LinkedIn chose 0.15.")
@click.option("--delta-per-call", metavar="D", help="A choice instead of that from --unique; LinkedIn chose 1e-10.")
@click.option("--total-delta", metavar="D", help="The delta at which epsilon is stated; 7/3 of all calls' by itself.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def advise(**given: Any) -> None:  # noqa: ANN401  click hands over all options by name
    """Expert: choose a limit by what simple attacks may achieve, and see what it guarantees."""
    with told():
        from hushcount.cli.render import show_json
        from hushcount.ledger.advisor import Goals
        from hushcount.ledger.advisor import advise as advise_on

        goals = Goals(**{name: value for name, value in given.items() if name != "as_json"})
        advice = advise_on(goals)
        if given["as_json"]:
            show_json(_form(advice))
        else:
            _tell(goals, advice)


def _tell(goals: Goals, advice: Advice) -> None:
    budget, promise = advice.budget, advice.promise
    click.echo("A budget for one window, chosen by what three simple attacks would achieve against it.\n")
    click.echo(
        f"Averaging: if one count were drawn anew {goals.repeats} times, the mean would show the true count with "
        f"probability {advice.averaging:.3g}."
    )
    click.echo(
        f"Differencing: one noisy count is the true one with probability {advice.near:.3g}, so two lists of "
        f"{advice.results:,} items that differ by a person are expected to share less than one such item."
    )
    click.echo(
        f"Unique counts: {budget.calls} questions show a count of a single person with probability at most "
        f"{_above(advice.unique, 2)}, one in {math.floor(1 / advice.unique):,}.\n"
    )
    print_rows(
        ("parameter", "value", "from"),
        (
            ("ε_per, of one result", f"{budget.epsilon_per}", "given" if goals.epsilon_per else "averaging"),
            ("k*, information units", f"{budget.information:,}", "differencing: two such lists with counts"),
            (
                "δ, of one call",
                f"{float(budget.delta_per_call):.3g}",
                "given" if goals.delta_per_call else "unique counts",
            ),
            ("l*, call units", f"{budget.calls}", "given"),
            ("δ*, of all together", _above(promise.total_delta, 3), "given" if goals.total_delta else "7/3 l* δ"),
            ("ε*, as printed", _above(promise.printed, 4), "equation (6.1) of the paper"),
            ("ε*, tight", _above(promise.tight, 4), "δ charged once per call, tight conversion: the one to state"),
        ),
    )
    click.echo("\nThe attacks explain the choice; the guarantee is ε* at δ*, for all attacks. To set it as a limit:")
    click.echo(
        f"  hushcount ledger limit --all-data --for-analyst '*' --information {budget.information} "
        f"--calls {budget.calls} --epsilon-per {budget.epsilon_per} --delta-per-call {budget.delta_per_call}"
    )


def _above(value: float | Decimal, digits: int) -> str:
    """So many digits, rounded up: what is promised is never told better than it is."""
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(value))):g}"


def _form(advice: Advice) -> dict[str, Any]:
    """The advice as JSON; exact amounts are texts, an infinite epsilon is null."""
    promise = asdict(advice.promise)
    return {
        **{name: value for name, value in asdict(advice).items() if name not in {"budget", "promise"}},
        "budget": {
            name: value if isinstance(value, int) else str(value) for name, value in asdict(advice.budget).items()
        },
        "promise": {
            name: value if isinstance(value, float) and math.isfinite(value) else _text(value)
            for name, value in promise.items()
        },
    }


def _text(value: object) -> str | None:
    return None if isinstance(value, float) else str(value)
