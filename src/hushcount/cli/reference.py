"""The page docs/reference.md, made from the code: every command with its options, every error, every variable.

python -m hushcount.cli.reference > docs/reference.md
"""

from __future__ import annotations

import re

import click

from hushcount import errors
from hushcount.cli.failures import EXIT_CODES, PIPE, STOPPED, UNEXPECTED
from hushcount.cli.main import main

VARIABLES = {
    "HUSHCOUNT_HOME": "where the secret, the receipts and your own ledger are; else your user's state folder",
    "HUSHCOUNT_LEDGER": "where spending is kept, if `--ledger` does not say: a file or a PostgreSQL address",
    "HUSHCOUNT_ANALYST": "who asks, if `--analyst` does not say; else the user of this computer",
    "HUSHCOUNT_SERVER": "the service to ask, if `--server` does not say",
    "HUSHCOUNT_TOKEN": "the token for a service",
    "HUSHCOUNT_TOKEN_FILE": "a file that holds the token, in place of the one above",
    "HUSHCOUNT_DEBUG": "show the trace of an unexpected error, which may hold values of the data",
    "_HUSHCOUNT_COMPLETE": "for your shell's completion: `bash_source`, `zsh_source` or `fish_source` prints it",
}
# Any setting of a service's configuration: docs/serve/config.md.
OF_A_SERVICE = "HUSHCOUNT_SECTION__NAME"


def render() -> str:
    """The whole page."""
    lines = [
        "# Reference",
        "",
        "Every command with its options, every error, every environment variable. Made from the code, by",
        "`python -m hushcount.cli.reference`; a test holds it against it. The service has its own:",
        "[HTTP interface](serve/api.md) and [configuration](serve/config.md).",
        "",
        "## Commands",
        *_command(main, "hushcount"),
        "",
        "## Errors",
        "",
        "From Python each is a class of `hushcount.errors`; on the command line it is a sentence, what to type (both",
        "[as JSON](formats.md) where the command has `--json`), and",
        f"this exit code. 0 is success, {STOPPED} an interrupt, {PIPE} a closed pipe, {UNEXPECTED} a bug of ours.",
        "",
        "| error | exit code | means |",
        "|---|---|---|",
        *_errors(),
        "",
        "## Environment variables",
        "",
        "| variable | says |",
        "|---|---|",
        *(f"| `{name}` | {words} |" for name, words in VARIABLES.items()),
        f"| `{OF_A_SERVICE}` | any setting of `hushcount serve`, as in its [configuration](serve/config.md) |",
        "",
    ]
    return "\n".join(lines)


def _command(command: click.Command, name: str) -> list[str]:
    """A command and all below it."""
    if isinstance(command, click.Group):
        below = [line for one, verb in command.commands.items() for line in _command(verb, f"{name} {one}")]
        return [*_head(command, name), *below] if name != "hushcount" else below
    return _head(command, name)


def _head(command: click.Command, name: str) -> list[str]:
    arguments = [param.human_readable_name for param in command.params if isinstance(param, click.Argument)]
    words = " ".join((command.help or "").split("\n\n")[0].split())
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    lines = ["", f"### `{' '.join((name, *arguments))}`", "", words]
    if options:
        lines += ["", "| option | |", "|---|---|", *map(_option, options)]
    return lines


def _option(option: click.Option) -> str:
    metavar = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    names = ", ".join(f"`{name}{metavar}`" for name in option.opts)
    help_ = (option.help or "").replace("|", "\\|")
    if option.show_default and option.default is not None:
        help_ += f" (default {option.default})"
    return f"| {names} | {help_}{' May be said more than once.' if option.multiple else ''} |"


def _errors() -> list[str]:
    """The tree at the head of `errors`, which a test holds against its classes, with exit codes."""
    told = dict(re.findall(r"[├└]── (\w+) +(.*)", errors.__doc__ or ""))
    lines = []
    for name, words in told.items():
        kind = getattr(errors, name)
        code = next((code for one, code in EXIT_CODES.items() if issubclass(kind, one)), 2)
        lines.append(f"| `{name}` | {code} | {words} |")
    return lines


if __name__ == "__main__":
    click.echo(render(), nl=False)
