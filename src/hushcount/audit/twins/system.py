"""Broken twins of the product around the mechanisms: each makes one mistake that a system check must catch."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np

from hushcount.app.answer import Asking, answer
from hushcount.app.release import Release
from hushcount.app.wiring import open_engine
from hushcount.audit.finding import Finding
from hushcount.audit.system.checks import SYSTEM_CHECKS, run_check
from hushcount.audit.system.product import ITEM, Place, Product, Said, ask, draw, made_request, opened
from hushcount.engines.engine import Engine
from hushcount.errors import HushcountError, UnreadableSource
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.frozen import frozen
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Histogram
from hushcount.model.outcomes import Outcome
from hushcount.model.queries import Question


@frozen
class SystemTwin:
    """A broken product: its name, the erratum or rule that it breaks, what is wrong, the check that must catch it."""

    name: str
    erratum: str
    what: str
    check: str
    product: Product

    def attack(self, *, quick: bool) -> Finding | None:
        """The finding of its check if the mistake is caught; None if it goes unseen."""
        check = next(check for check in SYSTEM_CHECKS if check.name == self.check)
        finding = run_check(check, self.product, quick=quick)
        return None if finding.holds else replace(finding, subject=self.name)


def _ask_under_one_version(
    question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]
) -> Release:
    """Noise that is a function of the question alone, the same for all data."""
    if options.get("ledger", False) is not False:
        return ask(question, source, options, **place)
    return ask(question, source, options, version="always the same", folder=place.get("folder"))


def _ask_in_storage_order(
    question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]
) -> Release:
    """Rows in the order in which their items first stand in the file."""
    release = ask(question, source, options, **place)
    with Path(str(source)).open(encoding="utf-8", newline="") as file:
        first = {row[ITEM]: place for place, row in reversed(list(enumerate(csv.DictReader(file))))}
    order = np.argsort([first.get(item, -1) for item in release.items.tolist()], kind="stable")
    counts, low, high = (None if rows is None else rows[order] for rows in (release.counts, release.low, release.high))
    return replace(release, items=release.items[order], counts=counts, low=low, high=high)


def _ask_and_quote(question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]) -> Release:
    """Errors that quote the line at which they happened."""
    try:
        return ask(question, source, options, **place)
    except HushcountError as error:
        line = Path(str(source)).read_bytes().splitlines()[-1].decode("utf-8", "replace")
        raise UnreadableSource(f"{error} The last line that was read: {line}") from error


def _say_little(words: Sequence[str], folder: Path) -> Said:  # noqa: ARG001  whatever the command
    """A command line that leaks nothing: the mistake is elsewhere, and starting processes takes time."""
    return Said(code=0, out="popular", err="")


def _ask_and_pay_again(
    question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]
) -> Release:
    """Every call is charged, although a repeat is answered from the ledger."""
    release = ask(question, source, options, **place)
    if options.get("ledger", False) is not False and not options.get("fresh"):
        ask(question, source, {**options, "fresh": True}, **place)
    return release


@frozen
class _Misnamed:
    """An engine that is known by the name that was typed, and by nothing else: as data was known once.

    Attributes:
        engine: the data.
        name: as it was typed.
    """

    engine: Engine
    name: str

    def sighting(self, key: bytes) -> Sighting:  # noqa: ARG002  whatever the key
        """The name alone."""
        typed = (Identity(kind="path", value=self.name),)
        return Sighting(title="typed", finds=typed, binds=typed)

    def rows_identity(self, key: bytes) -> Identity:  # noqa: ARG002  whatever the key
        """The name once more: the rows are not looked at."""
        return Identity(kind="rows", value=self.name)

    def fingerprint(self, key: bytes) -> str:
        """Of another name, another version."""
        return f"{self.name} {self.engine.fingerprint(key)}"

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  all else as the engine
        return getattr(self.engine, name)


def _ask_by_typed_name(
    question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]
) -> Release:
    """A product whose ledger goes by names."""
    with opened(place.get("folder") or Path(str(source)).parent, options) as setting:
        engine = cast("Engine", _Misnamed(engine=open_engine(source, table=options.get("table")), name=str(source)))
        return answer(made_request(question, options), engine, setting, call=Asking())


def _ask_by_size(question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]) -> Release:
    """A product whose versions are sizes and dates of files."""
    # A relation is shown as a table, which no file system takes for a name.
    stamp = str(source)
    if isinstance(source, str | Path) and Path(source).exists():
        found = Path(source).stat()
        stamp = f"{found.st_size} {found.st_mtime_ns}"
    return ask(question, source, options, version=stamp, folder=place.get("folder"))


def _draw_slowly(mechanism: Mechanism, histogram: Histogram, plan: Plan) -> Outcome:
    """A sampler that counts up to its draw, as textbook samplers of the geometric law do."""
    outcome = draw(mechanism, histogram, plan)
    if outcome.counts is not None and outcome.noise_scale is not None:
        off = np.abs(outcome.counts - histogram.counts[: len(outcome.counts)]) / outcome.noise_scale
        for _ in range(int(_STEPS * off.sum())):
            pass
    return outcome


# So many empty steps for each noise scale that a draw takes about as long as the rest of a small release.
_STEPS = 40_000

SYSTEM_TWINS: tuple[SystemTwin, ...] = (
    SystemTwin(
        name="charged twice",
        erratum="errata 9 and 41",
        what="a repeat is charged, although the stored bytes are returned",
        check="repeat spends once",
        product=Product(ask=_ask_and_pay_again),
    ),
    SystemTwin(
        name="reused seed on changed data",
        erratum="erratum 9",
        what="equal noise on two versions of the data, which cancels in their difference",
        check="changed data, new noise",
        product=Product(ask=_ask_under_one_version),
    ),
    SystemTwin(
        name="known by its typed name",
        erratum="DESIGN, one identity",
        what="a pattern, a link or a copy of the same file has a budget of its own",
        check="one budget for all names",
        product=Product(ask=_ask_by_typed_name),
    ),
    SystemTwin(
        name="versions by size and date",
        erratum="erratum 9",
        what="a file that was overwritten with its dates put back keeps its version, and so its noise",
        check="every change is a new version",
        product=Product(ask=_ask_by_size),
    ),
    SystemTwin(
        name="canary in an error",
        erratum="CONTRIBUTING, rule 4",
        what="an error quotes the line at which it happened",
        check="canaries stay silent",
        product=Product(ask=_ask_and_quote, command=_say_little),
    ),
    SystemTwin(
        name="order of input leaking into output",
        erratum="erratum 6",
        what="rows come in the order in which the file has them",
        check="order tells nothing",
        product=Product(ask=_ask_in_storage_order),
    ),
    SystemTwin(
        name="slow draw tells its size",
        erratum="Jin et al. 2022",
        what="a draw takes longer the larger it is",
        check="time tells nothing",
        product=Product(draw=_draw_slowly),
    ),
)
