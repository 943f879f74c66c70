"""Metrics for those who run the service: requests by route and status, refusals by code, coarse durations.

Never rows, items, filters or people; and never how long questions take, which would tell of the data. They are served
at an address of their own, which callers cannot reach.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from hushcount.app.serving.setup.config import Listen
from hushcount.errors import MissingExtra

# Six coarse buckets, in seconds.
_BUCKETS = (0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
# How long these take depends on questions, and so on data.
_TIMELESS = ("/v1/queries", "/v1/batches", "/v1/questions/{question}/release", "/v1/datasets/{dataset}/check")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The counters of one process, which add themselves up in a shared folder."""

    requests: Any
    refusals: Any
    seconds: Any

    def observe(self, request: Request, status: int, began: float) -> None:
        """Count a request that has ended."""
        route = getattr(request.scope.get("route"), "path", "none")
        self.requests.labels(route=route, status=str(status)).inc()
        code = getattr(request.state, "code", None)
        if code is not None:
            self.refusals.labels(code=code).inc()
        if not route.startswith(_TIMELESS):
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
    )


def serve_metrics(listen: Listen, *, shared: str) -> None:
    """Answer collectors at an address of their own, in a thread, with what all workers add up in a shared folder.

    Raises:
        MissingExtra: the package is not installed.
    """
    client = _package()
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = client.CollectorRegistry()
    MultiProcessCollector(registry, path=shared)  # type: ignore[no-untyped-call]
    client.start_http_server(listen.port, addr=listen.host, registry=registry)


def _package() -> Any:  # noqa: ANN401  an extra
    try:
        import prometheus_client
    except ImportError:
        raise MissingExtra("prometheus-client", "pip install 'hushcount[metrics]'") from None
    return prometheus_client
