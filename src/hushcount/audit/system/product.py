"""The product as the system checks see it: what can be asked of it. A broken twin replaces one of its parts."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hushcount.accounting.spent import Spent
from hushcount.app import questions
from hushcount.app.answer import answer
from hushcount.app.purse import open_purse
from hushcount.app.release import Release
from hushcount.app.request import Options, Question, make_request
from hushcount.app.wiring import open_engine
from hushcount.engines.engine import Engine
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.table import Mechanism
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Counts, Histogram, Incidence
from hushcount.model.outcomes import Outcome
from hushcount.model.queries import Description, Selection
from hushcount.noise.source import SystemSource

# The columns of all made-up data.
PERSON, ITEM, WORDS = "person", "item", "words"


class Asks(Protocol):
    """One question to the product about the made-up data in a file."""

    def __call__(self, question: Question, path: Path, options: Options, *, version: str | None = None) -> Release:
        """The release. With a `version` the data is taken for that version, whatever it holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command of the command line said."""

    code: int
    out: str
    err: str


def ask(question: Question, path: Path, options: Options, *, version: str | None = None) -> Release:
    """Ask as a person would from Python; with a `version`, as the same, but the data's own version is not looked at."""
    item = None if "text" in options else ITEM
    if version is None:
        verbs: dict[Question, Callable[..., Release]]
        verbs = {"count": questions.count, "top": questions.top, "vocab": questions.vocab}
        return verbs[question](path, user=PERSON, item=item, **options)
    request = make_request(question, user=PERSON, item=item, options=options)
    return answer(request, Pinned(engine=open_engine(path), version=version))


def command(words: Sequence[str]) -> Said:
    """Run the command line in a process of its own, as a shell would. It never sees the user's own files."""
    ran = subprocess.run(  # noqa: S603  our own program; the words are ours
        [sys.executable, "-m", "hushcount.cli", *words], capture_output=True, text=True, check=False
    )
    return Said(code=ran.returncode, out=ran.stdout, err=ran.stderr)


def draw(mechanism: Mechanism, histogram: Histogram, plan: Plan) -> Outcome:
    """One run of a mechanism with fresh noise: the private part of a release."""
    return mechanism.run(histogram, plan, SystemSource())


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The parts of the product that the checks use; the installed ones unless a twin says otherwise."""

    ask: Asks = ask
    command: Callable[[Sequence[str]], Said] = command
    draw: Callable[[Mechanism, Histogram, Plan], Outcome] = draw


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def fingerprint(self, key: bytes) -> str:
        """The version that was said, whatever the data holds."""
        del key
        return self.version

    def sighting(self, key: bytes) -> Sighting:
        """As the engine."""
        return self.engine.sighting(key)

    def rows_identity(self, key: bytes) -> Identity:
        """As the engine."""
        return self.engine.rows_identity(key)

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """As the engine."""
        return self.engine.histogram(selection, bound=bound, top=top)

    def incidence(self, selection: Selection) -> Incidence:
        """As the engine."""
        return self.engine.incidence(selection)

    def close(self) -> None:
        """As the engine."""
        self.engine.close()


@contextmanager
def workspace() -> Iterator[Path]:
    """An empty folder that is also hushcount's home: the user's secret, receipts and ledger are never touched."""
    before = {name: os.environ.pop(name, None) for name in ("HUSHCOUNT_HOME", "HUSHCOUNT_LEDGER")}
    with tempfile.TemporaryDirectory(prefix="hushcount-audit-") as folder:
        os.environ["HUSHCOUNT_HOME"] = str(Path(folder) / "home")
        try:
            yield Path(folder)
        finally:
            del os.environ["HUSHCOUNT_HOME"]
            os.environ.update({name: value for name, value in before.items() if value is not None})


def spent(ledger: Path, path: Path) -> Spent:
    """What was ever charged for the data in a file."""
    purse = open_purse(path, ledger=ledger)
    try:
        # Versions are digests, so an empty one is never found and the file's name decides.
        return purse.balance("").lifetime
    finally:
        purse.ledger.close()


def write_csv(path: Path, rows: Sequence[tuple[str, str]]) -> Path:
    """Write made-up rows of person and item; the item stands in the column of words too."""
    lines = [f"{PERSON},{ITEM},{WORDS}", *(f"{person},{item},{item}" for person, item in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
