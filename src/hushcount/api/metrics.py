"""Metrics for those who run the service: requests by route and status, refusals by code, coarse durations.

Of the ledger: what became of reservations, and how many releases each data set has left, once a minute. Never rows,
items, filters or people; and never how long questions take, which would tell of the data. They are served at an
address of their own, which callers cannot reach.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from fastapi import Request

from hushcount.api.durations import is_telling
from hushcount.app.serving.jobs.running import Telling
from hushcount.app.serving.lookout import ENDINGS, Seen
from hushcount.app.serving.setup.config import Listen
from hushcount.errors import MissingExtra
from hushcount.model.frozen import frozen

# Six coarse buckets, in seconds.
_BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)


@frozen
class Metrics:
    """The counters of one process, which add themselves up in a shared folder."""

    requests: Any
    refusals: Any
    seconds: Any
    resumed: Any
    ledger: Any

    @property
    def telling(self) -> Telling:
        """What the runner of questions tells."""
        return Telling(resumed=self.resumed.inc, looked=self.ledger.observe)

    def observe(self, request: Request, status: int, began: float) -> None:
        """Count a request that has ended."""
        route = getattr(request.scope.get("route"), "path", "none")
        self.requests.labels(route=route, status=str(status)).inc()
        code = getattr(request.state, "code", None)
        if code is not None:
            self.refusals.labels(code=code).inc()
        if not is_telling(route):
            self.seconds.labels(route=route).observe(time.monotonic() - began)


def make_metrics() -> Metrics:
    """The counters; the package looks by itself for the folder that all workers share.

    Raises:
        MissingExtra: the package is not installed.
    """
    client = _package()
    own = client.CollectorRegistry()
    return Metrics(
        requests=client.Counter("hushcount_requests", "By route and status", ("route", "status"), registry=own),
        refusals=client.Counter("hushcount_problems", "Problems by code", ("code",), registry=own),
        seconds=client.Histogram(
            "hushcount_request_seconds", "But not of questions", ("route",), buckets=_BUCKETS, registry=own
        ),
        resumed=client.Counter("hushcount_questions_resumed", "Taken up from a worker that was gone", registry=own),
        ledger=client.Histogram(
            "hushcount_ledger_seconds", "One look of a worker at the ledger", buckets=_BUCKETS, registry=own
        ),
    )


class LedgerMetrics:
    """What was seen of the ledger, for collectors; nothing of it while it cannot be read.

    Args:
        seen: what the last look saw.
    """

    def __init__(self, seen: Callable[[], Seen | None]) -> None:
        self._seen = seen

    def collect(self) -> Iterator[Any]:
        """See `prometheus_client.registry.Collector`."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        seen = self._seen()
        yield GaugeMetricFamily("hushcount_ledger_reached", "Whether it could be read", value=int(seen is not None))
        if seen is None:
            return
        yield GaugeMetricFamily("hushcount_reservations_open", "Held, and not settled yet", value=seen.open)
        ended = CounterMetricFamily("hushcount_reservations_ended", "Since this server started", labels=["outcome"])
        for outcome in ENDINGS:
            ended.add_metric([outcome], seen.ended.get(outcome, 0))
        yield ended
        left = GaugeMetricFamily("hushcount_releases_left", "Whole ones, of enforced limits", labels=["dataset"])
        for name, count in seen.left.items():
            left.add_metric([name], count)
        yield left


def serve_metrics(listen: Listen, *, shared: str, seen: Callable[[], Seen | None]) -> None:
    """Answer collectors at an address of their own, in a thread, with what all workers add up in a shared folder.

    Args:
        listen: where.
        shared: the folder.
        seen: what was last seen of the ledger.

    Raises:
        MissingExtra: the package is not installed.
    """
    client = _package()
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = client.CollectorRegistry()
    MultiProcessCollector(registry, path=shared)  # type: ignore[no-untyped-call]
    registry.register(LedgerMetrics(seen))
    client.start_http_server(listen.port, addr=listen.host, registry=registry)


def _package() -> Any:  # noqa: ANN401  an extra
    try:
        import prometheus_client
    except ImportError:
        raise MissingExtra("prometheus-client", "pip install 'hushcount[metrics]'") from None
    return prometheus_client
