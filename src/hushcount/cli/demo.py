"""The verb `demo`: a made-up log, the three questions on it, and the true values beside the private ones."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from hushcount.cli.failures import told

_SHOWN = 10


@click.command()
@click.option("--readers", default=30_000, show_default=True, help="How many people to make up.")
@click.option("--plot", default="hushcount-demo.png", show_default=True, help="Where to put the picture.")
@click.option("--log", default="reading-log.parquet", show_default=True, help="Where to leave the log to play with.")
def demo(readers: int, plot: str, log: str) -> None:
    """Make up a reading log and ask all three questions of it, with the true values beside."""
    with told(), tempfile.TemporaryDirectory() as folder:
        from hushcount.app.sample import true_counts, write_log
        from hushcount.app.setting import passing_setting
        from hushcount.library import questions

        nobody = passing_setting()
        made = Path(folder) / "reading-log.parquet"
        click.echo(
            f"A made-up log of a news site: {readers:,} readers, the articles they opened, what they searched for.\n"
        )
        write_log(made, readers)
        truth = true_counts(made)

        click.secho("How many readers opened each article?   hushcount count … --user reader --item article", bold=True)
        counted = questions.count(made, user="reader", item="article", setting=nobody)
        _beside(counted.to_dict(), truth)
        click.echo(
            f"{len(counted)} articles in all. Everything is a whole number of readers; no reader can be picked out.\n"
        )

        click.secho("Which five do most readers open?   hushcount top … -k 5", bold=True)
        _beside(questions.top(made, user="reader", item="article", k=5, setting=nobody).to_dict(), truth)

        click.echo(
            "The same price buys five sharp counts here and many above: the more rows share it, the wider each is."
        )

        click.secho("\nWhich search words may be published?   hushcount vocab … --text search --ngrams 1-2", bold=True)
        words = questions.vocab(made, user="reader", text="search", ngrams="1-2", setting=nobody)
        click.echo(f"{len(words)} words and pairs of words, such as: {', '.join(words.items[:12].tolist())} …\n")

        click.echo(counted.receipt.to_text(numbers=False) + "\n")
        _draw(counted, plot)
        _leave(made, Path(log))


def _beside(columns: dict[str, list[Any]], truth: dict[str, int]) -> None:
    from hushcount.cli.render import print_table

    print_table(columns | {"truly": [truth[item] for item in columns["article"]]}, most=_SHOWN)


def _draw(counted: Any, plot: str) -> None:  # noqa: ANN401  a Release; its module is heavy
    from hushcount.errors import MissingExtra

    try:
        counted.plot(plot, most=25)
    except MissingExtra as error:
        click.echo(f"No picture: {error}")
    else:
        click.echo(f"A picture of the counts is in {plot}.")


def _leave(made: Path, log: Path) -> None:
    """Keep the log where it can be asked again; a file that is there already is somebody's, and stays as it is."""
    if log.exists():
        click.echo(f"{log} was there already and was left as it is; the log above is gone. Keep it with --log FILE.")
        return
    shutil.copyfile(made, log)
    # By the path that was typed where there is one, since .venv/bin is on nobody's path.
    typed = Path(sys.argv[0])
    program = typed if typed.name == "hushcount" and not typed.is_absolute() else "hushcount"
    click.echo(f"The made-up log is in {log}, to play with: nobody in it exists. Type, for example:")
    click.echo(f"  {program} count {log} --user reader --item article --dry-run")
    click.echo(f"  {program} top {log} --user reader --text search --ngrams 2 -k 10")
