"""Access: how the data of an offer is opened, and when anew: at once after a change, or on schedule only.

With snapshot = "day" a version is announced for a day (UTC) and never changes within it: whoever watches numbers change
at once, while they know who came, could name a person. Files are copied once a day into a folder that all workers of a
machine share, and that outlasts a restart. Other stores are copied by each worker. Whoever is first puts the version on
record; a worker whose copy is another version refuses until the next day, so that nobody ever sees two versions of one
day.
"""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, timedelta
from pathlib import Path

from hushcount.app.serving.data.offers import Offer, source_of
from hushcount.app.serving.data.shelves import Access
from hushcount.app.serving.data.stamps import Stamp, stamp_of
from hushcount.app.setting import Setting
from hushcount.app.wiring import open_engine
from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.engines.engine import Engine
from hushcount.errors import InvalidParameter, LedgerUnavailable, Outdated, UnreadableSource
from hushcount.ledger.records import Records

SNAPSHOT = "snapshot"


def open_offer(offer: Offer, kept: Path | None = None) -> Engine:
    """Open the data of an offer: a private copy of it, but on Spark and Pinot, which watch over what they read.

    Args:
        offer: whose data.
        kept: a folder in which copies of files are kept; None to keep none.
    """
    source, store = source_of(offer), offer.store
    if store.kind == "spark":
        return open_engine(source, "spark", master=store.master)
    if store.kind == "pinot":
        return open_engine(source, "pinot")
    return open_duckdb(source, table=None if store.kind == "files" else offer.table, copied=True, kept=kept)


def direct_access() -> Access:
    """Data as it is at the moment of each question, for a service without a folder to keep copies in.

    A store that says snapshot = "day" is refused: its versions would change at any time.
    """

    def stamp(offer: Offer, settled: bool) -> Stamp | None:  # noqa: FBT001  as `Access.stamp`
        if offer.snapshot == "day":
            raise InvalidParameter(
                "snapshot", "day", "left out where the service has no folder of its own", "Nothing was charged."
            )
        return stamp_of(offer, settled=settled)

    return Access(open=open_offer, stamp=stamp)


def make_access(setting: Setting, folder: Path) -> Access:
    """Data as each store's snapshot says.

    Args:
        setting: whose ledger keeps the announced versions, under whose secret, by whose clock.
        folder: a private folder for the copies of the day, the same for all workers of a machine.
    """
    days = _Days(setting, folder)

    def opened(offer: Offer) -> Engine:
        return days.open(offer) if offer.snapshot == "day" else open_offer(offer)

    def stamp(offer: Offer, settled: bool) -> Stamp | None:  # noqa: FBT001  as `Access.stamp`
        return days.stamp(offer) if offer.snapshot == "day" else stamp_of(offer, settled=settled)

    return Access(open=opened, stamp=stamp)


def as_of(setting: Setting, offer: Offer) -> str | None:
    """The day (UTC) whose version of the data is asked now; None where it is the data as it stands."""
    return _day(setting) if offer.snapshot == "day" else None


def _day(setting: Setting) -> str:
    return setting.clock().astimezone(UTC).date().isoformat()


def announced(setting: Setting, offer: Offer, day: str) -> str | None:
    """The version that was announced for a day; None if nobody looked at the data on it."""
    record = None if setting.ledger is None else setting.ledger.records.find(SNAPSHOT, f"{_digest(offer)} {day}")
    return None if record is None else str(record.body["version"])


class _Days:
    """Versions that are announced for a day."""

    def __init__(self, setting: Setting, folder: Path) -> None:
        self._setting, self._folder = setting, folder

    def stamp(self, offer: Offer) -> Stamp:
        """Stands for the day, whatever happens to the data."""
        del offer
        return ("day", _day(self._setting))

    def open(self, offer: Offer) -> Engine:
        """The copy of the day, if its version is the announced one.

        Raises:
            UnreadableSource: it cannot be copied, or another version was announced. Nothing was charged.
        """
        day = _day(self._setting)
        place = self._folder / _digest(offer)
        engine = open_offer(offer, place / day if offer.store.kind == "files" else None)
        try:
            self._agree(offer, day, engine)
        except BaseException:
            engine.close()
            raise
        self._clear(place, day)
        return engine

    def _agree(self, offer: Offer, day: str, engine: Engine) -> None:
        secret, records = self._setting.secret, self._records()
        version = secret.version(engine.fingerprint(secret.row_key))
        name = f"{_digest(offer)} {day}"
        announced = records.find(SNAPSHOT, name)
        if announced is None:
            body = {"version": version, "day": day, "dataset": offer.name}
            try:
                announced = records.put(
                    SNAPSHOT, name, body, owner=self._setting.analyst, by=self._setting.analyst, edition=0
                )
            except Outdated:
                announced = records.find(SNAPSHOT, name)
        if announced is None or announced.body["version"] != version:
            raise UnreadableSource(
                f"the data of {offer.name!r} is not the version that was announced for {day}: it changed before this "
                "worker copied it. A version never changes within its day, so this worker answers again tomorrow "
                "(UTC); workers that share the folder of copies do not differ. Nothing was charged."
            )

    def _records(self) -> Records:
        if self._setting.ledger is None:
            raise LedgerUnavailable("versions on schedule are announced in a ledger; name one in the configuration.")
        return self._setting.ledger.records

    def _clear(self, place: Path, day: str) -> None:
        """Remove the copies of days gone by; yesterday's may still be read by a question under way."""
        if not place.is_dir():
            return
        yesterday = (self._setting.clock().astimezone(UTC).date() - timedelta(days=1)).isoformat()
        for old in place.iterdir():
            if old.name not in {day, yesterday} and not old.name.startswith("."):
                shutil.rmtree(old, ignore_errors=True)


def _digest(offer: Offer) -> str:
    """A name for the place, without words of its own: it is a folder, and stands in the ledger."""
    told = "\0".join((offer.store.kind, offer.store.place or "", offer.table or ""))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
