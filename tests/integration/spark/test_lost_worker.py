"""A machine of the cluster is lost in the middle of a question: the answer and its price are the same."""

from __future__ import annotations

import pytest

from tests.integration.spark.sessions import asks, wait_until


# One goes on from lists that are kept, the other does not.
@pytest.mark.parametrize("asked", [{"question": "vocab"}, {"question": "count", "method": "pcr"}], ids=str)
def test_a_lost_worker_changes_nothing(cluster, driver, log, home, tmp_path, asked):
    """Killed while its tasks run, after the charge: the same release as undisturbed, and one charge."""
    calm, rough = tmp_path / "calm.sqlite", tmp_path / "rough.sqlite"
    expected = driver.ask(file=log, home=home, frame=True, ledger=str(calm), **asked)
    failed = failed_tasks(driver)

    def tasks_run() -> bool:
        """Data is being read for a question that was charged, and parts of it are done already."""
        # The session's page is asked last: telling takes it longer than the ledger.
        return asks(rough) == [("open", True)] and any(
            stage["numActiveTasks"] and stage["numCompleteTasks"] for stage in driver.stages(status="active")
        )

    driver.begin(file=log, home=home, frame=True, until=tmp_path / "lost", ledger=str(rough), **asked)
    wait_until(tasks_run)
    cluster.kill_worker(cluster.workers[0])
    (tmp_path / "lost").touch()
    cluster.add_workers(1)
    form = driver.answer()

    assert "error" not in form, form
    assert form["rows"] == expected["rows"]
    assert form["cost"] == expected["cost"]
    assert asks(rough) == [("settled", True)]
    assert failed_tasks(driver) > failed


def failed_tasks(driver):
    """How many tasks of the session failed so far."""
    return sum(stage["numFailedTasks"] for stage in driver.stages())
