"""What to type: an error says what is wrong in words, and here those words get their command or option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import click

from hushcount import errors
from hushcount.cli.options import TYPED

# Options as they are typed, by the name that the library has for them.
_OPTIONS = {
    "against": "hushcount ledger verify --json > links.json",
    "calls": "--calls L",
    "dataset": "--dataset NAME",
    "date_format": "--date-format '%d/%m/%Y'",
    "delta": "--delta Y",
    "epsilon": "--epsilon X",
    "error": "--error 10%, or --error 50",
    "information": "--information K --calls L, or --none",
    "item": "--item COLUMN, or --text COLUMN",
    "k": "-k 10",
    "key": "--key TEXT",
    "keys": "--keys LIST",
    "limit": "--releases 10, --rho X --delta Y, --epsilon X --delta Y, --information K --calls L, or --none",
    "master": "--engine spark --master ADDRESS",
    "max_items_per_user": "--max-items-per-user N",
    "ngrams": "--ngrams 1-3",
    "per_item_cap": "--per-item-cap N",
    "preset": "--preset cautious, standard or generous",
    "receipt": "hushcount receipt --list",
    "releases": "--releases 10, or --none",
    "rho": "--rho X",
    "table": "--table NAME",
    "timezone": "--timezone Europe/Berlin",
}


# Parameters of commands by the name that the library has for them, where that is another.
_PARAMETERS = {"counts": "names_only", "source": "file"}


def spoken(error: errors.HushcountError) -> str:
    """The error in its own words; what is wrong is called as it is typed."""
    context = click.get_current_context(silent=True)
    if context is None or not isinstance(error, errors.InvalidParameter):
        return str(error)
    name = _PARAMETERS.get(error.name, error.name)
    param = next((one for one in context.command.params if one.name == name), None)
    if param is None:
        return str(error)
    if not isinstance(param, click.Option):
        return error.words(f"{param.human_readable_name} {errors.brief(error.value)}")
    bare = param.is_flag or error.value is None
    return error.words(param.opts[0] if bare else f"{param.opts[0]} {errors.brief(error.value)}")


def hint(error: errors.HushcountError) -> str:  # noqa: PLR0911  one for each kind of error
    """What to type after an error; empty if its own words say it all."""
    from hushcount.ledger.ledger import Refusal, Variant

    match error:
        case errors.OtherPerson(dataset=dataset, asked=asked):
            return f"hushcount catalog repin {shlex.quote(dataset)} --user {shlex.quote(asked)}"
        case errors.UnknownDataset():
            return "hushcount catalog, to see all of them"
        case errors.ClockImplausible(deed=deed):
            return f"hushcount ledger clock --{deed}"
        case errors.LedgerMissing():
            return "hushcount ledger found --ledger PLACE, or name another with --ledger PLACE"
        case errors.LedgerForeign() | errors.LedgerUnavailable():
            return "--ledger PLACE"
        case errors.BudgetExhausted(refusal=Refusal(variant=Variant(change=change))):
            return _as_options(change)
        case errors.BudgetExhausted(refusal=Refusal()):
            return f"hushcount budget {_file()}"
        case errors.BudgetExhausted(refusal={"would_fit": [{"change": {} as sent}, *_]}):
            return _as_options(sent)
        case errors.InvalidParameter(name=name, want=want):
            return _option(name, want)
        case _:
            return ""


def _option(name: str, want: str) -> str:
    if want.startswith("left out"):
        # What is to be left out is not to be typed.
        return ""
    # It is not wrong, but something is missing beside it.
    if want.startswith("said with day"):
        return "--item 'day(COLUMN)'"
    if want.startswith("said with by"):
        return "--by COLUMN --keys LIST"
    if name == "error" and want.startswith("a share such as 10% here"):
        return "--error 10%"
    if name == "error" and want.startswith("a number of people here"):
        return f"--error {want.rsplit(maxsplit=1)[-1]}"
    return _OPTIONS.get(name, "")


def _file() -> str:
    """The data as it was typed."""
    context = click.get_current_context(silent=True)
    named = None if context is None else context.params.get("file")
    return shlex.quote(str(named)) if named else "FILE"


def _as_options(change: Mapping[Any, Any]) -> str:
    """A cheaper way to ask as it is typed. A server may say anything: what is no preset and no number is left out."""
    from hushcount.model.budgets import PRESETS

    preset, delta = str(change.get("preset", "")), str(change.get("delta", ""))
    told = ["--preset", preset] if preset in PRESETS else []
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?e-[0-9]+", delta):
        told += ["--delta", delta]
    return _again(told) if told else ""


def _again(changed: list[str]) -> str:
    """The command that was typed, with these options in place of those that they change.

    An address may hold a password, which is not repeated: then the options alone.
    """
    context = click.get_current_context(silent=True)
    typed: tuple[str, ...] = () if context is None else context.meta.get(TYPED, ())
    if context is None or not typed or any("://" in word for word in typed):
        return shlex.join(changed)
    dropped = set(changed) & {"--preset", "--delta"}
    if "--preset" in changed:
        # A share is aimed at for any price; a number of people is a price.
        dropped |= {"--rho"} if "%" in str(context.params.get("error")) else {"--rho", "--error"}
    kept, is_value = [], False
    for word in typed:
        name, joined, _ = word.partition("=")
        if not is_value and name not in dropped:
            kept.append(word)
        is_value = not is_value and name in dropped and not joined
    return shlex.join(["hushcount", str(context.info_name), *kept, *changed])
