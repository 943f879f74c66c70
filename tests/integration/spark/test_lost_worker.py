"""A machine of the cluster is lost in the middle of a question: the answer and its price are the same."""

from __future__ import annotations

import pytest

from tests.integration.spark.sessions import asks, wait_until


@pytest.mark.parametrize("question", ["vocab", "count"])
def test_a_lost_worker_changes_nothing(cluster, driver, log, home, tmp_path, question):
    """Killed while its tasks run, after the charge: the same release as undisturbed, and one charge."""
    calm, rough = tmp_path / "calm.sqlite", tmp_path / "rough.sqlite"
    expected = driver.ask(question, log, home, seconds=0.0, ledger=str(calm))

    def tasks_run() -> bool:
        """Data is being read for a question that was charged, and parts of it are done already."""
        working = [
            stage for stage in driver.stages(status="active") if stage["numActiveTasks"] and stage["numCompleteTasks"]
        ]
        return asks(rough) == [("open", True)] and bool(working)

    driver.begin(question, log, home, seconds=0.7, ledger=str(rough))
    wait_until(tasks_run)
    cluster.kill_worker(cluster.workers[0])
    form = driver.answer()
    cluster.add_workers(1)

    assert "error" not in form, form
    assert form["rows"] == expected["rows"]
    assert form["cost"] == expected["cost"]
    assert asks(rough) == [("settled", True)]
    assert any(stage["numFailedTasks"] for stage in driver.stages())
