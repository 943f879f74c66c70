"""What is served: the offers of a service by name, each with its id in the catalog once its data was met.

A data set whose store cannot be read is unavailable, and the server is not: it is tried again whenever it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress

from hushcount.app.serving.callers.callers import Caller, Serving, require, roles_on
from hushcount.app.serving.data.enrolling import enrol, join_people, pin
from hushcount.app.serving.data.offers import Offer, keep_offer, kept_offers, make_offer, merged
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.setup.config import Config, DatasetConfig, StoreConfig
from hushcount.app.setting import Setting
from hushcount.errors import HushcountError, InvalidParameter, NotFound
from hushcount.ledger.ledger import Role

_NOTHING = "there is no such thing here, or it is not shared with you. Nothing was charged."


class Served:
    """The offers of one worker. Safe for any number of threads; what an owner adds on another worker is found."""

    def __init__(self, config: Config, stores: Stores, setting: Setting) -> None:
        self._config, self._stores, self._setting = config, stores, setting
        self._places: Mapping[str, StoreConfig] = {store.name: store for store in config.stores}
        self._lock = threading.Lock()
        self._met: dict[str, Offer] = {}

    def meet(self) -> tuple[str, ...]:
        """Enrol every offer that can be read; the names of those that cannot."""
        failed = []
        for name in self.names():
            try:
                self.find(name)
            except HushcountError:
                failed.append(name)
        with self._lock:
            met = list(self._met.values())
        with suppress(NotFound):
            join_people(met, self._setting)
        return tuple(failed)

    def refresh(self) -> None:
        """Open what changed, so that no question waits for it: soon after midnight, the copies of the day."""
        with self._lock:
            met = list(self._met.values())
        self._stores.refresh([offer for offer in met if offer.snapshot == "day"])

    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(sorted(self._declared()))

    def find(self, name: str) -> Offer:
        """The offer of a name, enrolled.

        Raises:
            NotFound: none has that name.
        """
        with self._lock:
            met = self._met.get(name)
        if met is not None:
            return met
        declared = self._declared().get(name)
        if declared is None:
            raise NotFound(_NOTHING)
        offer = enrol(make_offer(declared, self._places), self._stores, self._setting)
        with self._lock:
            return self._met.setdefault(name, offer)

    def say_person(self, name: str, person: str) -> Offer:
        """Say who a person is, in the one file of a service for one person; see `enrolling.pin`."""
        offer = pin(self.find(name), person, stores=self._stores, setting=self._setting)
        with self._lock:
            self._met[name] = offer
        return offer

    def by_id(self, dataset: str) -> Offer:
        """The offer of a data set.

        Raises:
            NotFound: it is not served any more.
        """
        with self._lock:
            for offer in self._met.values():
                if offer.id == dataset:
                    return offer
        for name in self.names():
            with suppress(HushcountError):
                if self.find(name).id == dataset:
                    return self.find(name)
        raise NotFound(_NOTHING)

    def granted(self, service: Serving, caller: Caller, name: str, *roles: Role, deed: str) -> Offer:
        """The offer of a name, for a caller who has one of the roles; what is not shared looks like what is not there.

        Raises:
            NotFound: there is none, or the caller has no role for it.
            NotPermitted: their role does not allow it.
        """
        try:
            offer = self.find(name)
        except NotFound:
            raise
        except HushcountError:
            # Nobody can have a role for data that was never met, but through one for everything.
            if not roles_on(service, caller, None):
                raise NotFound(_NOTHING) from None
            raise
        require(service, caller, offer, *roles, deed=deed)
        return offer

    def shared_with(self, service: Serving, caller: Caller) -> tuple[Offer, ...]:
        """All offers for which a caller has a role."""
        found = []
        for name in self.names():
            with suppress(HushcountError):
                offer = self.find(name)
                if roles_on(service, caller, offer):
                    found.append(offer)
        return tuple(found)

    def add(self, declared: DatasetConfig, *, by: str) -> Offer:
        """Offer one more data set of a store of the configuration, for all workers and after a restart.

        Raises:
            InvalidParameter: the configuration has one of that name, which goes before.
            JoinRefused: it cannot be made one with others about the same people now. Nothing is offered.
        """
        if any(given.name == declared.name for given in self._config.datasets):
            hint = "What the configuration serves is changed there. Nothing was changed."
            raise InvalidParameter("name", declared.name, "one that the configuration does not have", hint)
        offer = enrol(make_offer(declared, self._places), self._stores, self._setting)
        with self._lock:
            met = [*self._met.values(), offer]
        # Before it is offered: what is about the same people must not be served with a budget of its own.
        join_people(met, self._setting)
        if self._setting.ledger is not None:
            keep_offer(self._setting.ledger.records, declared, by=by)
        with self._lock:
            self._met[declared.name] = offer
        return offer

    def _declared(self) -> Mapping[str, DatasetConfig]:
        kept = () if self._setting.ledger is None else kept_offers(self._setting.ledger.records)
        return merged(self._config.datasets, kept)
