"""A purse: who pays for a release, from which ledger, for which data."""

from __future__ import annotations

import contextlib
import getpass
import os
from dataclasses import dataclass, replace
from pathlib import Path

from hushcount.app.planning import Planned, make_plan
from hushcount.app.request import PRESETS
from hushcount.errors import HushcountError, NotPermitted, UnreadableSource
from hushcount.ledger.ledger import EVERY, Account, Ask, Balance, Ledger, Page, Variant
from hushcount.ledger.limits import ten_standard_releases
from hushcount.model.budgets import RhoBudget, rho_budget
from hushcount.noise.source import new_secret

_FILE = Path(".hushcount") / "ledger.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """Who asks, under which name the data is known, and the ledger that keeps count.

    `key` names one attempt to ask: asked again under the same key, a question that was answered or is being paid for is
    not paid twice, also if it asks for fresh noise. Without one, every call is an attempt of its own.
    """

    ledger: Ledger
    analyst: str
    dataset: str
    key: str | None = None

    def ask(self, planned: Planned, version: str) -> Ask:
        """The question as the ledger wants it: its worst case, and cheaper ways to ask in case it does not fit."""
        request = planned.request
        return Ask(
            analyst=self.analyst,
            dataset=self.dataset,
            version=version,
            query=request.canonical(),
            cost=planned.plan.cost,
            key=self.key or new_secret().hex(),
            fresh=request.fresh,
            what=f"{request.question} of {request.item_words()} per {request.selection.user}",
            family=f"{request.question}/{request.selection.user}/{request.selection.item}/{request.filter_words()}",
            variants=tuple(_cheaper(planned)),
        )

    def balance(self, version: str) -> Balance:
        """What this data set has spent and has left."""
        entity = self.ledger.entity_of(self.dataset, version) or self.dataset
        return self.ledger.balance(Account(kind="dataset", name="", entity=entity))


def open_purse(
    source: object,
    *,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    analyst: str | None = None,
    key: str | None = None,
) -> Purse:
    """The purse for a source: the ledger that is named, or HUSHCOUNT_LEDGER, or one file in the project's folder.

    `dataset` is what the ledger calls the data; without it, a file's own name, and for a frame one that is made up.
    """
    where = str(ledger or os.environ.get("HUSHCOUNT_LEDGER") or project_ledger())
    named = dataset or _dataset_name(source)
    return Purse(ledger=open_ledger(where), analyst=analyst or _analyst(), dataset=named, key=key)


def known_balance(source: object, *, ledger: str | Path | None = None) -> Balance | None:
    """What a data set has left as far as its name tells, reading no data; None if there is no ledger yet."""
    where = str(ledger or os.environ.get("HUSHCOUNT_LEDGER") or project_ledger())
    if "://" not in where and not Path(where).exists():
        return None
    # Versions are digests, so an empty one is never found and the name alone decides.
    return Purse(ledger=open_ledger(where), analyst=_analyst(), dataset=_dataset_name(source)).balance("")


def open_ledger(where: str) -> Ledger:
    """A ledger by its address: a file, made if it is not there, or a PostgreSQL address."""
    if where.startswith(("postgresql://", "postgres://")):
        from hushcount.ledger.postgres import open_postgres  # noqa: PLC0415  an extra

        return _with_rules(open_postgres(where))
    from hushcount.ledger.sqlite import open_sqlite  # noqa: PLC0415  only where a file is used

    path = Path(where)
    if not path.exists():
        _create(path)
    return open_sqlite(path, create=False)


def _with_rules(ledger: Ledger) -> Ledger:
    """A ledger that nobody owns yet becomes ours, with the limit that every new data set starts with."""
    everything = Account(kind="dataset", name=EVERY, entity=EVERY)
    owner = _analyst()
    # An owner sees every rule that was ever made: where there is one, a missing limit was lifted on purpose.
    untouched = not ledger.history(Page(entity=EVERY, size=1), by=owner)
    if untouched and ledger.balance(everything).limit is None:
        # Somebody else may own it: then it is theirs to decide.
        with contextlib.suppress(NotPermitted):
            ledger.grant(owner, "owner", by=owner)
            ledger.set_limit(everything, ten_standard_releases(), by=owner)
    return ledger


def _create(path: Path) -> None:
    """Make a ledger whose maker owns it and where every data set starts with ten standard releases a month.

    It appears under its name only when it is complete: nobody can ever open it without its limits.
    """
    from hushcount.ledger.sqlite import open_sqlite  # noqa: PLC0415  as above

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f"{path.name}.{new_secret().hex()[:8]}")
        _with_rules(open_sqlite(draft)).close()
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    except OSError as error:
        raise UnreadableSource(
            f"no ledger can be kept at {str(path)!r} ({error.strerror}); name a place that can be written with "
            "HUSHCOUNT_LEDGER"
        ) from None


def project_ledger() -> Path:
    """The ledger of the folder we are in or of the nearest folder above that has one; else a new one here."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / _FILE).exists():
            return folder / _FILE
    return here / _FILE


def _analyst() -> str:
    said = os.environ.get("HUSHCOUNT_ANALYST")
    if said:
        return said
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"


def _dataset_name(source: object) -> str:
    """How the ledger calls the data: the file's name, or the kind of object. Identity is the content, not this."""
    if isinstance(source, str | Path):
        text = str(source)
        return text if "://" in text or "*" in text else str(Path(text).resolve())
    return f"a {type(source).__name__} in memory {new_secret().hex()[:8]}"


def _cheaper(planned: Planned) -> list[Variant]:
    """The same question at smaller presets, dearest first."""
    budget = planned.request.budget
    if not isinstance(budget, RhoBudget):
        return []
    found = []
    for name, rho in sorted(PRESETS.items(), key=lambda pair: float(pair[1]), reverse=True):
        smaller = rho_budget(rho, budget.delta)
        if smaller.rho >= budget.rho:
            continue
        with contextlib.suppress(HushcountError):
            plan = make_plan(replace(planned.request, budget=smaller, people_error=None)).plan
            found.append(Variant(label=f"--preset {name}", cost=plan.cost))
    return found
