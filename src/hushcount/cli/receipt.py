"""The verb `receipt`: what was protected, how, and at what price."""

from __future__ import annotations

import click

from hushcount.cli.failures import told


@click.command()
@click.argument("receipt_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a paragraph.")
def receipt(receipt_id: str, *, as_json: bool) -> None:
    """Show the receipt of a release made by this user."""
    with told():
        from hushcount.app.receipts import find
        from hushcount.library.surroundings import look_around

        found = find(receipt_id, look_around().home / "receipts")
        click.echo(found.to_json() if as_json else found.to_text())
