"""The verb `receipt`: what was protected, how, and at what price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushcount.cli.failures import told

if TYPE_CHECKING:
    from hushcount.app.receipt import Receipt


@click.command()
@click.argument("receipt_id", metavar="[ID]", required=False)
@click.option("--list", "as_list", is_flag=True, help="All receipts that are kept here, the newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a paragraph.")
@click.option("--html", "as_html", is_flag=True, help="A page by itself, to hand on.")
@click.option("--out", metavar="FILE", help="With --html: write the page there instead of printing it.")
def receipt(receipt_id: str | None, *, as_list: bool, as_json: bool, as_html: bool, out: str | None) -> None:
    """Show the receipt of a release made by this user, or list all of them."""
    with told():
        from hushcount.app.receipts import find, listed
        from hushcount.errors import InvalidParameter
        from hushcount.library.surroundings import look_around

        if as_list == (receipt_id is not None):
            raise InvalidParameter("receipt", receipt_id, "an id, or else --list")
        if as_html and (as_list or as_json):
            raise InvalidParameter("html", "--html", "said with an id alone, and without --json")
        if out and not as_html:
            raise InvalidParameter("out", out, "left out unless --html makes a page to write")
        folder = look_around().home / "receipts"
        if receipt_id is None:
            _list(listed(folder), as_json=as_json)
            return
        found = find(receipt_id, folder)
        if as_html:
            _page(found, out)
        else:
            click.echo(found.to_json() if as_json else found.to_text())


def _list(found: list[Receipt], *, as_json: bool) -> None:
    from hushcount.app.receipt import question_words
    from hushcount.app.words import price_words
    from hushcount.cli.budget import print_rows
    from hushcount.cli.render import printable, show_json

    if as_json:
        show_json([json.loads(one.to_json()) for one in found])
        return
    if not found:
        click.echo("No receipts are kept here yet.")
        return
    heads = ("date (UTC)", "id", "data set", "question", "price")
    rows = [
        (
            one.made[:16].replace("T", " "),
            one.id,
            one.dataset or "",
            question_words(one),
            price_words(float(one.charged_rho)),
        )
        for one in found
    ]
    print_rows(heads, [tuple(map(printable, row)) for row in rows])


def _page(found: Receipt, out: str | None) -> None:
    from hushcount.app.files import require_folder

    if out is None:
        click.echo(found.to_html(), nl=False)
        return
    path = Path(out)
    require_folder("out", path)
    path.write_text(found.to_html(), encoding="utf-8")
    click.echo(f"Written: {path}")
