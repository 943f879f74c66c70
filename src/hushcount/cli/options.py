"""The options that `count`, `top` and `vocab` share, written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from hushcount.cli import completion

if TYPE_CHECKING:
    from hushcount.app.options import Options

_Command = TypeVar("_Command", bound=Callable[..., Any])

server_option = click.option(
    "--server",
    metavar="URL",
    envvar="HUSHCOUNT_SERVER",
    help="Ask this service; FILE is a data set's name there. The token is in HUSHCOUNT_TOKEN.",
)

_SHARED = (
    click.argument("file", metavar="FILE", type=click.Path()),
    click.option(
        "--user",
        metavar="COLUMN",
        shell_complete=completion.columns,
        help="The column that says who a row belongs to; needed for files.",
    ),
    click.option(
        "--item",
        metavar="COLUMN",
        multiple=True,
        shell_complete=completion.columns,
        help="The column whose values are counted, or day(COLUMN), week, month, hour; again for pairs.",
    ),
    click.option(
        "--by",
        metavar="COLUMN",
        multiple=True,
        shell_complete=completion.columns,
        help="As --item, and the table is sorted by it.",
    ),
    click.option("--timezone", metavar="ZONE", help="With day(COLUMN): whose clock, as Europe/Berlin (default UTC)."),
    click.option("--date-format", metavar="FORMAT", help="With day(COLUMN): how texts write it, as %d/%m/%Y %H:%M."),
    click.option("--trim", is_flag=True, help="With --item: leave off white space at both ends."),
    click.option("--lower", is_flag=True, help="With --item: take Apple for apple."),
    click.option(
        "--text",
        metavar="COLUMN",
        shell_complete=completion.columns,
        help="A text column instead: its words are counted.",
    ),
    click.option("--ngrams", metavar="N-M", help="With --text: runs of N to M words, such as 1-3."),
    click.option("--keep-case", is_flag=True, help="With --text: tell Apple from apple."),
    click.option("--where", metavar="FILTER", help="Count only these rows: \"country = 'NZ' AND age >= 18\"."),
    click.option("--keys", metavar="LIST", help="A file with the public list of items, one per line; CSV for pairs."),
    click.option("--max-items-per-user", type=int, metavar="N", help="Take at most N items of each person."),
    click.option("--per-item-cap", type=int, metavar="N", help="Let one person add up to N to a count (default 1)."),
    click.option(
        "--preset",
        shell_complete=completion.presets,
        help="How much to spend: cautious, standard (default) or generous.",
    ),
    click.option(
        "--error", metavar="E", help="Wanted half of each 95 % interval: 10% of its count, or so many people."
    ),
    click.option("--rho", metavar="X", help="Expert: spend this much rho."),
    click.option("--epsilon", metavar="X", help="Expert: spend (epsilon, delta)."),
    click.option("--delta", metavar="X", help="Expert: the delta, 1e-6 unless said otherwise."),
    click.option("--method", metavar="NAME", shell_complete=completion.methods, help="Expert: a mechanism by name."),
    click.option(
        "--engine",
        metavar="NAME",
        shell_complete=completion.engines,
        help="What reads the data: duckdb (default), spark or pinot.",
    ),
    click.option("--master", metavar="ADDRESS", help="With --engine spark: where it runs, as spark://host:7077."),
    click.option("--table", metavar="NAME", help="The table, where FILE is a database with several."),
    click.option("--dataset", metavar="NAME", help="The data set of the catalog that FILE belongs to."),
    click.option("--fresh", is_flag=True, help="Draw new noise, and pay again, for a question asked before."),
    click.option("--ledger", metavar="PLACE", help="Where spending is kept: a file or a PostgreSQL address."),
    click.option("--analyst", metavar="NAME", help="Who asks, if not the user of this computer."),
    click.option("--key", metavar="TEXT", help="A name for this attempt: a retry under it never pays twice."),
    server_option,
    click.option(
        "--dry-run", is_flag=True, help="Price and expected accuracy; looks at the columns and reads no value."
    ),
    click.option("--out", metavar="PATH", help="Write the table to .parquet, .csv or .json, receipt beside it."),
    click.option("--rows", type=click.IntRange(0), metavar="N", help="How many rows to show here (default 20)."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
    click.option("--quiet", "-q", is_flag=True, help="Print rows only, separated by tabs."),
)

# What goes to the library, under the library's own names; the rest is about showing.
LIBRARY = (
    *("text", "ngrams", "by", "timezone", "date_format", "where", "keys", "max_items_per_user", "per_item_cap"),
    *("preset", "error", "rho", "epsilon", "delta", "method", "engine", "master", "k"),
    *("table", "dataset", "ledger", "analyst", "key"),
)


# What is said of items, and means nothing where people are counted.
_OF_ITEMS = {"item", "text", "ngrams", "keep_case", "max_items_per_user", "per_item_cap"}


def shared_options(command: _Command) -> _Command:
    """Add the shared options to a command."""
    for add in reversed(_SHARED):
        command = add(command)
    return command


def people_options(command: _Command) -> _Command:
    """Add the shared options, but for those that are said of items."""
    command = shared_options(command)
    added: list[click.Parameter] = command.__click_params__  # type: ignore[attr-defined]
    added[:] = [param for param in added if param.name not in _OF_ITEMS]
    return command


# Where a context keeps the words after the verb, as they were typed.
TYPED = "hushcount.typed"


class Once(click.Command):
    """A command whose options may be said once: of two values, the first would be ignored without a word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, after a look at what was said twice; what was typed is remembered."""
        ctx.meta[TYPED] = tuple(args)
        _, _, said = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            if isinstance(param, click.Option) and not param.multiple and said.count(param) > 1:
                raise click.UsageError(f"{param.opts[0]} was said twice; which of them is meant?", ctx)
        return super().parse_args(ctx, args)


def items_of(given: dict[str, Any]) -> str | tuple[str, ...] | None:
    """What `--item` said: a column, several, or nothing."""
    said: tuple[str, ...] = given.get("item", ())
    return said[0] if len(said) == 1 else said or None


def _refuse_unused(given: dict[str, Any]) -> None:
    """Refuse what would not be used: a flag for words where columns are counted, rows where no table is printed."""
    if given.get("keep_case") and not given["text"]:
        raise click.UsageError("--keep-case is for --text; leave it out here")
    if given.get("lower") and given.get("text"):
        raise click.UsageError("--lower is for --item; words are in lower case anyway")
    if given.get("names_only") and given.get("plot"):
        raise click.UsageError("--plot draws counts, and --names-only has none; leave one of them out")
    if given["quiet"] and given["as_json"]:
        raise click.UsageError("--quiet and --json are two ways to print the rows; leave one of them out")
    if given["rows"] is not None and (given["quiet"] or given["as_json"]):
        raise click.UsageError("--rows is for the table; --quiet and --json print all rows")


def library_options(given: dict[str, Any]) -> Options:
    """The options of the library that were given on the command line."""
    options = {name: given[name] for name in LIBRARY if given.get(name) not in (None, ())}
    _refuse_unused(given)
    if given.get("keep_case") or given.get("lower"):
        options["lower"] = bool(given["lower"])
    if given.get("trim"):
        options["trim"] = True
    if given.get("fresh"):
        options["fresh"] = True
    if given.get("names_only"):
        options["counts"] = False
    # The names above are those of Options; click has checked what was typed against them.
    return cast("Options", options)
