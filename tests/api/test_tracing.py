"""Traces: a span for each request, under the caller's trace, with nothing of what was said; none if not asked for."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hushcount.api.app import make_app
from hushcount.api.tracing import start_tracing
from tests.api.served import CANARY, TOP, released, staged

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
ALLOWED = {"http.request.method", "http.route", "http.response.status_code", "hushcount.code"}


@contextmanager
def collecting():
    """A collector on loopback: its address, and the bodies that it was sent."""
    bodies = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()


def spans_of(bodies):
    """All spans that came in."""
    requests = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    return [
        span for one in requests for whole in one.resource_spans for part in whole.scope_spans for span in part.spans
    ]


def test_spans_arrive_under_the_callers_trace_and_hold_nothing_that_was_said(tmp_path):
    """Routes, statuses and codes; no item, filter, data set, person, key or path is in any byte that was sent."""
    with staged(tmp_path) as stage, collecting() as (address, bodies):
        tracing = start_tracing(address)
        analyst = replace(stage.analyst, app=make_app(stage.service, observe=tracing.observe))
        first = released(analyst, TOP, key=f"key-{CANARY}", traceparent=f"00-{TRACE}-{PARENT}-01")
        assert first.status == 200
        assert first.headers["traceparent"] == f"00-{TRACE}-{PARENT}-01"
        assert analyst.post("/v1/queries", {**TOP, "where": f"country = '{CANARY}' OR 1"}).status == 400
        assert analyst.get(f"/v1/datasets/{CANARY}?{CANARY}={CANARY}").status in {400, 404}
        assert analyst.get(f"/{CANARY}").status == 404
        tracing.close()
        found = spans_of(bodies)

        assert len(found) == 4
        assert [span.name for span in found][:2] == ["POST /v1/queries"] * 2
        assert (found[0].trace_id.hex(), found[0].parent_span_id.hex()) == (TRACE, PARENT)
        assert found[1].trace_id.hex() != TRACE
        for span in found:
            assert {one.key for one in span.attributes} <= ALLOWED
            assert span.start_time_unix_nano <= span.end_time_unix_nano
            assert not span.events
        assert {one.value.string_value for one in found[1].attributes} >= {"unsafe-filter", "/v1/queries"}
        sent = b"".join(bodies)
        for word in (CANARY, "ana", "events", "article", "country", str(tmp_path)):
            assert word.encode() not in sent, word


def test_a_caller_who_wants_no_trace_gets_none(tmp_path):
    """The flag of a trace is obeyed."""
    with staged(tmp_path) as stage, collecting() as (address, bodies):
        tracing = start_tracing(address)
        client = replace(stage.anybody, app=make_app(stage.service, observe=tracing.observe))
        assert client.get("/healthz", traceparent=f"00-{TRACE}-{PARENT}-00").status == 200
        tracing.close()

        assert bodies == []


def test_a_collector_that_is_away_changes_nothing(tmp_path):
    """Requests are answered as ever."""
    with staged(tmp_path) as stage:
        tracing = start_tracing("http://127.0.0.1:9")
        client = replace(stage.anybody, app=make_app(stage.service, observe=tracing.observe))
        assert [client.get("/healthz").status for _ in range(5)] == [200] * 5
        tracing.close()


def test_nothing_is_imported_unless_it_is_used():
    """Neither the packages nor our own part of it."""
    words = (
        "import sys, hushcount.api.app, hushcount.api.metrics, hushcount.cli.serve;"
        "print([n for n in sys.modules if n.startswith(('opentelemetry.sdk', 'opentelemetry.exporter', "
        "'google.protobuf', 'hushcount.api.tracing'))])"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout == "[]\n"


def test_a_span_tells_no_duration_that_depends_on_data(tmp_path):
    """Questions and checks of facts have spans without one; everything else has its own."""
    with staged(tmp_path) as stage, collecting() as (address, bodies):
        tracing = start_tracing(address)
        client = replace(stage.owner, app=make_app(stage.service, observe=tracing.observe))
        client.patch("/v1/datasets/events", {"facts": {"article": {"max_items_per_user": 1}}})
        assert client.post("/v1/datasets/events/check", {"mode": "release"}, Idempotency_Key="k").status == 200
        assert client.post("/v1/queries", TOP).status == 200
        assert client.get("/v1/me").status == 200
        tracing.close()
        took = {span.name: span.end_time_unix_nano - span.start_time_unix_nano for span in spans_of(bodies)}

        assert took["POST /v1/datasets/{dataset}/check"] == 0
        assert took["POST /v1/queries"] == 0
        assert took["GET /v1/me"] > 0
