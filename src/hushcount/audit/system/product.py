"""The product as the system checks see it: what can be asked of it. A broken twin replaces one of its parts."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack, cast

from hushcount.accounting.spent import Spent
from hushcount.app.answer import Asking, answer
from hushcount.app.catalog import report
from hushcount.app.options import Options
from hushcount.app.release import Release
from hushcount.app.request import Request, make_request
from hushcount.app.setting import Places, Setting
from hushcount.app.wiring import make_setting, open_engine
from hushcount.engines.engine import Engine
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.frozen import frozen
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Counts, Histogram, Incidence
from hushcount.model.outcomes import Outcome
from hushcount.model.queries import Description, Question, Selection
from hushcount.noise.source import SystemSource

# The columns of all made-up data.
PERSON, ITEM, WORDS = "person", "item", "words"
# The folder of the secret and the receipts, in every workspace.
HOME = "home"


class Place(TypedDict, total=False):
    """Where and as what data is asked.

    Attributes:
        version: the data is taken for that version, whatever it holds.
        folder: the workspace; that of the file, if it is not said.
    """

    version: str | None
    folder: Path | None


class Asks(Protocol):
    """One question to the product about made-up data."""

    def __call__(
        self, question: Question, source: object, options: Mapping[str, Any], **place: Unpack[Place]
    ) -> Release:
        """The release.

        Args:
            question: which.
            source: the data; in a file, unless a `folder` is said.
            options: those of the question; `user` and `item` are columns that are called otherwise.
            place: see there.
        """
        ...


@frozen
class Said:
    """What a command of the command line said."""

    code: int
    out: str
    err: str


def ask(
    question: Question,
    source: object,
    options: Mapping[str, Any],
    *,
    version: str | None = None,
    folder: Path | None = None,
) -> Release:
    """Ask as a person would from Python; with a `version`, as the same, but the data's own version is not looked at."""
    place = folder or Path(str(source)).parent
    with opened(place, options) as setting:
        request, table = made_request(question, options), options.get("table")
        engine = open_engine(source, table=table)
        call = Asking(dataset=options.get("dataset"))
        try:
            if version is None:
                return answer(request, engine, setting, call=call)
            return answer(request, Pinned(engine=engine, version=version), replace(setting, ledger=None), call=call)
        finally:
            engine.close()


def made_request(question: Question, options: Mapping[str, Any]) -> Request:
    """The request of a question about the columns of made-up data."""
    about = {name: value for name, value in options.items() if name not in {"user", "item", "dataset", "table"}}
    item = None if "text" in options else options.get("item", ITEM)
    return make_request(question, user=options.get("user", PERSON), item=item, options=cast("Options", about))


@contextmanager
def opened(folder: Path, options: Mapping[str, Any]) -> Iterator[Setting]:
    """The setting of a workspace: its own secret, and the ledger that the options name, if any."""
    ledger = options.get("ledger")
    places = Places(
        home=folder / HOME, ledger=None if not ledger else str(ledger), analyst=options.get("analyst", "auditor")
    )
    with make_setting(places, keeps_count=ledger is not False) as setting:
        yield setting


def command(words: Sequence[str], folder: Path) -> Said:
    """Run the command line in a process of its own, as a shell would, with a workspace as its home.

    It never sees the user's own files.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HUSHCOUNT_")}
    ran = subprocess.run(  # noqa: S603  our own program; the words are ours
        [sys.executable, "-m", "hushcount.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, "HUSHCOUNT_HOME": str(folder / HOME)},
    )
    return Said(code=ran.returncode, out=ran.stdout, err=ran.stderr)


def draw(mechanism: Mechanism, histogram: Histogram, plan: Plan) -> Outcome:
    """One run of a mechanism with fresh noise: the private part of a release."""
    return mechanism.run(histogram, plan, SystemSource())


@frozen
class Product:
    """The parts of the product that the checks use; the installed ones unless a twin says otherwise."""

    ask: Asks = ask
    command: Callable[[Sequence[str], Path], Said] = command
    draw: Callable[[Mechanism, Histogram, Plan], Outcome] = draw


@frozen
class Pinned:
    """An engine whose data always has the same version: so that two orders of the same rows meet the same noise.

    As a twin of the product it is the mistake of erratum 9: noise that does not change when the data does.
    """

    engine: Engine
    version: str

    def describe(self) -> Description:
        """As the engine."""
        return self.engine.describe()

    def validate(self, selection: Selection) -> None:
        """As the engine."""
        self.engine.validate(selection)

    def fingerprint(self, key: bytes) -> str:  # noqa: ARG002  whatever the key
        """The version that was said."""
        return self.version

    def sighting(self, key: bytes) -> Sighting:
        """As the engine."""
        return self.engine.sighting(key)

    def rows_identity(self, key: bytes) -> Identity:
        """As the engine."""
        return self.engine.rows_identity(key)

    def close(self) -> None:
        """As the engine."""
        self.engine.close()

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """As the engine."""
        return self.engine.histogram(selection, bound=bound, top=top)

    def incidence(self, selection: Selection) -> Incidence:
        """As the engine."""
        return self.engine.incidence(selection)


@contextmanager
def workspace() -> Iterator[Path]:
    """An empty folder that holds hushcount's home too: the user's secret, receipts and ledger are never touched."""
    with tempfile.TemporaryDirectory(prefix="hushcount-audit-") as folder:
        yield Path(folder).resolve()


def spent(ledger: Path, path: Path) -> Spent:
    """What was ever charged for the data in a file."""
    with opened(path.parent, {"ledger": ledger}) as setting:
        lines = [line.balance for line in report(setting)]
        return sum((balance.lifetime for balance in lines), Spent())


def write_csv(path: Path, rows: Sequence[tuple[str, str]]) -> Path:
    """Write made-up rows of person and item; the item stands in the column of words too."""
    lines = [f"{PERSON},{ITEM},{WORDS}", *(f"{person},{item},{item}" for person, item in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
