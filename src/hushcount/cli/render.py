"""What a person sees: tables in plain words, or JSON, or bare rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hushcount.accounting.spent import Spent
    from hushcount.app.estimating import Estimate
    from hushcount.app.receipt import Receipt
    from hushcount.app.release import Release
    from hushcount.ledger.ledger import Balance

_ROW_IDS = {"id", "_id", "rowid", "row_id", "row", "index", "idx", "event_id", "eventid", "pk", "uuid", "guid", "line"}
# What `--json` prints, by its version; docs/formats.md.
_SCHEMA = 1
# So many rows of a table are shown unless it is said otherwise.
_SHOWN = 20


def warn_of_row_id(user: str) -> None:
    """Warn if the person column has the name of a row id: then each row, not each person, would be protected.

    By its name alone: whether its values repeat is a fact about the data, which must not be told.
    """
    if user.lower() in _ROW_IDS:
        click.echo(
            f"hushcount: column '{user}' has the name of a row number. If it numbers rows, only single rows are\n"
            "protected and not people: name the column that says whose row it is.",
            err=True,
        )


def check_outputs(given: dict[str, Any]) -> None:
    """Refuse files that could not be written before any data is read: no answer is paid for and then lost."""
    from hushcount.app.files import require_apart, require_format
    from hushcount.app.plots.counts import require_picture
    from hushcount.app.wiring import kept_files
    from hushcount.library.surroundings import look_around

    places = look_around(ledger=given["ledger"], analyst=given["analyst"])
    for option, require in (("out", require_format), ("plot", require_picture)):
        if given.get(option):
            path = Path(given[option])
            require(path)
            require_apart(option, path, (given["file"], given["keys"], *kept_files(places, given["file"])))


def show_note(sentence: str) -> None:
    """Say what was done on the way, beside the answer."""
    click.echo(f"hushcount: {printable(sentence)}", err=True)


def show_release(release: Release, given: dict[str, Any]) -> None:
    """Print a release, and write the files that were asked for."""
    if given["out"]:
        release.save(given["out"])
    if given.get("plot"):
        release.plot(given["plot"])
    if given["as_json"]:
        receipt = json.loads(release.receipt.to_json())
        columns = release.to_dict()
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        told = {"receipt": receipt, "enforced": release.enforced, "free": release.free}
        show_json({"rows": rows, **told})
    elif given["quiet"]:
        lines = zip(*release.to_dict().values(), strict=True)
        click.echo("".join("\t".join(printable(str(cell)) for cell in row) + "\n" for row in lines), nl=False)
    else:
        print_table(release.to_dict() | _marks(release, given), most=_rows(given))
        for line in summary(release, given):
            click.echo(line)


def _rows(given: dict[str, Any]) -> int:
    """How many rows a table has."""
    said: int | None = given["rows"]
    return _SHOWN if said is None else said


def _marks(release: Release, given: dict[str, Any]) -> dict[str, list[str]]:
    """Where an accuracy was asked for, and not every row has it: a column that tells which do."""
    if not given.get("error") or release.counts is None:
        return {}
    sharp = release.within(given["error"])
    return {} if sharp.all() else {"as asked": ["yes" if one else "wider" for one in sharp]}


def print_table(columns: dict[str, list[Any]], *, most: int) -> None:
    """A table of at most `most` rows."""
    from rich.console import Console  # not needed for --json and --quiet
    from rich.table import Table
    from rich.text import Text

    from hushcount.app.release import HEADINGS

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        is_number = name in HEADINGS or name == "truly"
        heading = HEADINGS.get(name, printable(name))
        table.add_column(Text(heading), justify="right" if is_number else "left", overflow="fold")
    for row in list(zip(*columns.values(), strict=True))[:most]:
        # Text, not markup: an item may contain square brackets.
        table.add_row(*(Text(f"{cell:,}" if isinstance(cell, int) else printable(str(cell))) for cell in row))
    Console().print(table)


def summary(release: Release, given: dict[str, Any]) -> list[str]:
    """The sentences under a table."""
    from hushcount.app.receipt import cutoff_sentence, interval_sentence
    from hushcount.app.words import price_words
    from hushcount.cli.changes import one_change

    receipt = release.receipt
    lines = [""]
    more = len(release) - _rows(given)
    if more > 0:
        lines.append(f"and {more:,} more; write --out FILE to keep them all, or --rows {len(release)} to see them.")
    if not len(release):
        lines += _nothing(receipt, given)
    if release.counts is not None and len(release):
        lines.append(interval_sentence(receipt))
    if receipt.remark is not None and (len(release) or given.get("error")):
        lines.append(receipt.remark)
    if release.counts is not None and bool((release.counts <= 0).any()):
        lines.append("A number of zero or below is noise around few people or none: read it as hardly anybody.")
    if receipt.question == "top" and given.get("k") and len(release) < given["k"]:
        lines.append(f"Only {len(release)} of {given['k']} could be told apart from the rest.")
    # Where an accuracy left no row, the cut-off is not what did.
    if release.cutoff is not None and (len(release) or not given.get("error")):
        lines.append(cutoff_sentence(receipt))
    lines += one_change(release, given)
    if not release.enforced:
        lines.append("Given without a limit: spending on this data is only tracked.")
    paid = "Free: asked before" if release.free else f"Price: {price_words(float(receipt.charged_rho))}"
    lines.append(f"{paid}. Receipt: hushcount receipt {receipt.id}")
    return lines + [f"Written: {path}" for path in _written(given)]


def _nothing(receipt: Receipt, given: dict[str, Any]) -> list[str]:
    """Why there may be no row at all: what is free to look at first, and what costs more last."""
    item, where = printable(receipt.item), printable(receipt.where or "")
    reasons = [f"The item: is {item} what you mean? A column that differs in every row has nothing to share."]
    reasons.append("Spelling and case: --trim and --lower make one item of texts that differ by spaces or capitals.")
    if where:
        reasons.insert(0, f"The filter: does any row have {where}? Texts must be spelt as in the data, capitals too.")
    if given.get("error"):
        reasons.insert(0, "The error: rows that are foreseen to be wider are left out. A larger --error shows more.")
    if where:
        reasons.append("Dates: in a filter they are written date('2026-01-31').")
    # The words of an item do not tell a part of a moment from a column that is called so; its columns' names do.
    if any(name.endswith(")") for name in receipt.columns):
        reasons.append("Dates: texts that are not ISO 8601, as 2026-01-31 08:00, need --date-format '%d/%m/%Y %H:%M'.")
    return [
        "Nothing could be shown. Look at these before you pay more:",
        *(f"  {reason}" for reason in reasons),
        "If all of that is right, too few people share any one item: a larger --preset shows more.",
    ]


def _written(given: dict[str, Any]) -> list[str]:
    """The files that were written: the rows, the receipt beside them, the picture."""
    from hushcount.app.files import receipt_path

    out, plot = given.get("out"), given.get("plot")
    return [*((out, str(receipt_path(Path(out)))) if out else ()), *((plot,) if plot else ())]


def printable(text: str) -> str:
    """A text that does nothing to a terminal: an item may hold anything, also what moves the cursor or ends a row."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def show_json(form: Mapping[str, object] | Sequence[object], *, ours: bool = True) -> None:
    """Print JSON, an object of `ours` with the version of its form; what is not printable in its texts is escaped."""
    versioned = {"schema": _SCHEMA, **form} if ours and isinstance(form, Mapping) else form
    text = json.dumps(versioned, ensure_ascii=False, indent=2)
    click.echo("".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text))


def show_left(left: Balance | None, given: dict[str, Any]) -> None:
    """Print what the data set has left after a release."""
    if left is not None and not given["quiet"] and not given["as_json"]:
        show_balance(left)


def show_balance(balance: Balance | None) -> None:
    """Print what a data set has left, in releases of the standard size."""
    if balance is None:
        told = "nothing was asked of it under this name. A copy of known data has that data's budget."
        click.echo(f"Left for this data: {told}")
        return
    if balance.left is None or balance.limit is None:
        click.echo("Nothing limits what may still be asked of this data.")
        return
    from hushcount.app.words import naming_runs_out, rest, standard_releases

    left = standard_releases(rest(balance.left, balance.limit))
    renews = f", renewed {balance.renews:%d %B %Y}" if balance.renews is not None else ""
    period = "in all" if balance.limit.window == "none" else f"this {balance.limit.window}"
    first = " Naming items runs out first: a question may take one release of that, however small its price."
    told = first if naming_runs_out(balance.left, balance.limit) else ""
    click.echo(f"Left for this data: {left} {period}{renews}.{told}")


def show_estimate(estimate: Estimate, left: Balance | None, given: dict[str, Any], *, looked: str) -> None:
    """Print what a question would cost, how accurate it would be, and what is left for the data.

    Args:
        estimate: the price.
        left: what is left.
        given: the options.
        looked: what was looked at, in a sentence.
    """
    from hushcount.accounting import zcdp
    from hushcount.app.forms import estimate_form
    from hushcount.app.words import price_words

    expectation = estimate.expectation
    if given["as_json"]:
        show_json({**estimate_form(estimate), "checked": looked})
        return
    click.echo(f"No value was read and nothing is charged. {looked}\nThis question")
    click.echo(f"  costs at most {price_words(estimate.rho)};")
    click.echo(f"  is answered by {estimate.planned.reason};")
    if expectation.give_or_take is not None:
        click.echo(f"  gives counts that are right give or take {expectation.give_or_take:,} people, 95 times in 100;")
    if expectation.cutoff is not None:
        click.echo(f"  shows items from about {expectation.cutoff:,.0f} people on.")
    for note in expectation.notes:
        click.echo(f"  {note}")
    if given["file"] == "-" and left is None:
        click.echo("Left for this data: known when it has been read.")
        return
    show_balance(left)
    if left is not None and left.left is not None and not _fits(zcdp.spent(estimate.cost), left.left):
        click.echo("It does not fit into that, and would be refused unless it was asked before.")


def _fits(asked: Spent, left: Spent) -> bool:
    return asked.rho <= left.rho and asked.delta <= left.delta
