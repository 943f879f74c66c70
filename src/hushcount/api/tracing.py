"""Traces over OTLP for those who run the service: one span for each request, under the trace that the caller named.

A span says the method, the route as it is written here, the status and the code of a problem; nothing of a path, a
query, a header or a body. There is none within a question, and the span of a request whose duration depends on data has
none: it is told when the request came, whether or not its caller waited on a grid. Imported only where it is used.
"""

from __future__ import annotations

import time

from fastapi import Request
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hushcount.api.durations import is_telling
from hushcount.model.frozen import frozen

# Seconds that a collector may take. Spans are sent by a thread of their own, and lost if nobody takes them.
_PATIENCE = 5
_SERVER_ERRORS = 500


@frozen
class Tracing:
    """What sends spans, in one process."""

    provider: TracerProvider
    tracer: Tracer

    def observe(self, request: Request, status: int, began: float) -> None:
        """Note a request that has ended."""
        now = time.time_ns()
        came = now - int((time.monotonic() - began) * 1e9)
        route = getattr(request.scope.get("route"), "path", None)
        told: dict[str, str | int] = {"http.request.method": _method(request), "http.response.status_code": status}
        told |= {"http.route": route} if route is not None else {}
        code = getattr(request.state, "code", None)
        told |= {"hushcount.code": code} if code is not None else {}
        span = self.tracer.start_span(
            f"{_method(request)} {route or 'unknown'}",
            context=_parent(request.state.trace),
            kind=SpanKind.SERVER,
            attributes=told,
            start_time=came,
        )
        if status >= _SERVER_ERRORS:
            span.set_status(StatusCode.ERROR)
        span.end(end_time=came if is_telling(route or "") else now)

    def close(self) -> None:
        """Send what is left."""
        self.provider.shutdown()


def start_tracing(collector: str) -> Tracing:
    """Send spans to a collector that speaks OTLP over HTTP."""
    # Only what stands here: the environment, the host and the command line are not asked.
    provider = TracerProvider(resource=Resource({"service.name": "hushcount"}))
    exporter = OTLPSpanExporter(endpoint=f"{collector.rstrip('/')}/v1/traces", timeout=_PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider=provider, tracer=provider.get_tracer("hushcount"))


def _method(request: Request) -> str:
    """The method; one that HTTP does not know is a text of the caller's."""
    return (
        request.method if request.method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} else "_OTHER"
    )


def _parent(trace: str | None) -> Context:
    return TraceContextTextMapPropagator().extract({} if trace is None else {"traceparent": trace})
