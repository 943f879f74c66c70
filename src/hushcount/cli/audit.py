"""The verb `audit`: attack this build of hushcount, and say what was found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushcount.cli.failures import told

if TYPE_CHECKING:
    from rich.console import Console

    from hushcount.audit.finding import Finding
    from hushcount.audit.report.report import Report

# Beside those of cli/failures.py: a shell or CI can tell a broken claim from a command that could not run.
BROKEN = 1
_WIDE = 160


@click.command()
@click.option("--quick", is_flag=True, help="Under a minute: fewer neighbours, fewer samples.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this mechanism; may be given again.")
@click.option("--no-twins", is_flag=True, help="Do not attack the variants that are known to be broken.")
@click.option("--json", "json_file", metavar="PATH", help="Write the report as JSON; - prints it instead of the table.")
@click.option("--html", "html_file", metavar="PATH", help="Write the report as a page with charts.")
def audit(*, quick: bool, only: tuple[str, ...], no_twins: bool, json_file: str | None, html_file: str | None) -> None:
    """Attack this build: the claimed guarantee beside the largest privacy loss found.

    Runs on made-up data only and spends nothing. Exit code 0 if every claim held and every broken variant was caught,
    1 if not.
    """
    with told():
        from hushcount.app.files import require_folder
        from hushcount.audit.audit import audit as run_audit
        from hushcount.cli.stages import Stages

        for option, path in (("json", json_file), ("html", html_file)):
            if path and path != "-":
                require_folder(option, Path(path))
        with Stages(quiet=False) as stages:
            report = run_audit(quick=quick, only=only, twins=not no_twins, say=stages.say)
        _write(report, json_file, html_file)
        if json_file != "-":
            show_report(report)
            click.echo(_where(json_file, html_file))
        if not report.passed:
            sys.exit(BROKEN)


def _write(report: Report, json_file: str | None, html_file: str | None) -> None:
    if json_file == "-":
        click.echo(report.to_json())
    elif json_file:
        Path(json_file).write_text(report.to_json() + "\n", encoding="utf-8")
    if html_file:
        from hushcount.audit.report.page import make_page  # only where a page is wanted

        Path(html_file).write_text(make_page(report), encoding="utf-8")


def _where(json_file: str | None, html_file: str | None) -> str:
    written = [f"The {kind} is in {path}." for kind, path in (("page", html_file), ("JSON", json_file)) if path]
    return " ".join(written) if html_file else " ".join([*written, "For a page with charts: --html audit.html"])


def show_report(report: Report) -> None:
    """Print the tables, the verdict and what the audit cannot see."""
    from rich.console import Console  # not needed for --json -

    from hushcount.audit.report.report import BLIND_SPOTS, STEPS

    # A file or a pipe has no width of its own; 80 columns would break every cell.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    heads = ("mechanism", "claimed", *(step if step == "replay" else f"{step}: largest loss" for step in STEPS))
    _print_rows(console, heads, [_mechanism_row(report, name) for name in report.mechanisms])
    if report.system:
        rows = [(one.subject, _word(one), one.measured) for one in report.system]
        _print_rows(console, ("system check", "verdict", "found"), rows)
    if report.twins:
        caught = len(report.twins) - len(report.missed)
        rows = [(one.name, one.caught_by or "NOT CAUGHT", one.erratum or one.measured) for one in report.twins]
        _print_rows(console, ("broken variant", "caught by", "what is wrong with it"), rows)
        console.print(f"\n{caught} of {len(report.twins)} broken variants caught.")
    for finding in report.broken:
        words = f"\nBROKEN: {finding.subject}, {finding.step}. {finding.measured}. {finding.where}"
        console.print(words, markup=False, style="red")
    console.print("\n" + report.verdict(), markup=False, style="bold")
    spots = "; ".join(what[0].lower() + what[1:].rstrip(".") for what, _ in BLIND_SPOTS)
    console.print(
        f"\nWhat such an audit cannot see: {spots}. What covers each instead is said on the page and in docs/audit.md. "
        f"A sound build fails this audit with probability at most {report.false_alarm:.2g}. {report.seconds:.0f} s.",
        markup=False,
    )


def _mechanism_row(report: Report, name: str) -> tuple[str, ...]:
    """Of each step the finding that came nearest to its claim. A replay measures no loss: its verdict is enough."""
    from hushcount.audit.report.report import STEPS

    found = {step: report.worst(name, step) for step in STEPS}
    cells = []
    for step, one in found.items():
        if one is None:
            cells.append("-")
        else:
            cells.append(f"{_word(one)}: {one.measured}" if step != "replay" or not one.holds else _word(one))
    exact = found["exact"] or found["black box"]
    return (name, "" if exact is None else exact.claimed, *cells)


def _word(finding: Finding) -> str:
    return "holds" if finding.holds else "BROKEN"


def _print_rows(console: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        table.add_column(head, overflow="fold", no_wrap=place == 0)
    for row in rows:
        # Text, not markup; a broken claim is a word before it is a colour.
        loud = any(word in cell for cell in row for word in ("BROKEN", "NOT CAUGHT"))
        table.add_row(*(Text(cell, style="red" if loud else "") for cell in row))
    console.print()
    console.print(table)
