"""What a shell offers to complete: presets, engines, methods, and columns of the file that was typed already."""

from __future__ import annotations

from contextlib import suppress

import click


def presets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001  click's own
    """The presets."""
    from hushcount.model.budgets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def engines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001  as above
    """The engines."""
    from hushcount.app.wiring import ENGINES

    return [name for name in ENGINES if name.startswith(incomplete)]


def methods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001  as above
    """The mechanisms that answer this verb's question."""
    from hushcount.mechanisms.table import MECHANISMS

    asked = "count" if ctx.info_name == "people" else ctx.info_name
    return [one.name for one in MECHANISMS if one.question == asked and one.name.startswith(incomplete)]


def columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001  as above
    """The columns of a file on this machine, from its header; none if it cannot be opened, or no cluster is asked.

    Also those of CSV, which errors do not list: whoever types here can read the file, and nothing of it is kept.
    """
    from hushcount.app.wiring import open_engine

    # While an option waits for its value click has not given the arguments their names yet.
    file = str(ctx.params.get("file") or next(iter(ctx.args), ""))
    if not file or file == "-" or "://" in file or ctx.params.get("engine") not in {None, "duckdb"}:
        return []
    # Whoever presses a key must not be told of a broken file: the question will.
    with suppress(Exception):
        engine = open_engine(file, table=ctx.params.get("table"))
        try:
            return [one.name for one in engine.describe().columns if one.name.startswith(incomplete)]
        finally:
            engine.close()
    return []
