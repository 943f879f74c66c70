"""What a real server sends by itself: traces and alerts, each to the place of its configuration."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime, timedelta

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.opening import open_service
from hushcount.app.serving.owners.wishes import make_wish
from hushcount.app.serving.setup.config_file import read_config
from tests.api.served import make_files
from tests.api.test_serve import PATIENCE, called, free_port, running
from tests.api.test_tracing import collecting, spans_of
from tests.unit.app.serving.test_alerts import SECRET, receiving


def test_traces_and_alerts_leave_a_real_server(tmp_path):
    """Spans go to the collector, a request that waits to the hook, signed."""
    config = make_files(tmp_path)
    (tmp_path / "hook-secret").write_text(SECRET, encoding="utf-8")
    (tmp_path / "hook-secret").chmod(0o600)
    with receiving() as receiver, collecting() as (collector, bodies):
        more = f'[observe]\notlp = "{collector}"\n[alerts]\nto = "{receiver.url}"\nsecret_file = "hook-secret"\n'
        config.write_text(config.read_text(encoding="utf-8") + more, encoding="utf-8")
        with open_service(read_config(config, {})) as service:
            offer = service.served.find("events")
            service.ledger.grant("ana", "analyst", dataset=offer.id, by=service.setting.analyst)
            soon = datetime.now(UTC) + timedelta(days=3)
            wish = make_wish(service, Caller(name="ana"), offer, releases="2", why="why not", until=soon)
        with running(tmp_path, "--config", str(config), "--port", str(free_port())) as (process, port):
            until = time.monotonic() + PATIENCE
            while not receiver.bodies("request"):
                assert time.monotonic() < until
                time.sleep(0.1)
            assert called(port, "GET", "/v1/datasets")[0] == 401
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0

        assert [one["request"] for one in receiver.bodies("request")] == [wish.id]
        assert "GET /v1/datasets" in {span.name for span in spans_of(bodies)}
