"""What is read is what was digested: nothing is computed anew, and no write goes unseen."""

from __future__ import annotations

import mmap

import duckdb
import pytest

from hushcount.engines.duckdb.engine import open_duckdb
from hushcount.errors import UnreadableSource
from hushcount.model.queries import Selection

SELECTION = Selection(user="user", item="item")


def test_a_generated_column_is_read_once(tmp_path):
    """A column that is random at each reading: all answers are about the state that the version names."""
    path = tmp_path / "g.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE t ("user" INTEGER, item VARCHAR GENERATED ALWAYS AS (random()::VARCHAR) VIRTUAL)'
        )
        connection.execute('INSERT INTO t ("user") SELECT n FROM range(50) r(n)')
    engine = open_duckdb(path)
    first, again = (engine.histogram(SELECTION, top=50).items.tolist() for _ in range(2))

    assert first == again


@pytest.mark.parametrize("ask", ["histogram", "incidence"])
def test_a_write_through_a_memory_map_is_seen(tmp_path, ask):
    """A page that was dirtied before leaves no new time: the bytes are digested again, beside what is made of them."""
    path = tmp_path / "m.csv"
    path.write_text("user,item\n" + "".join(f"u{n},it{n % 3}\n" for n in range(900)), encoding="utf-8")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[11:12] = mapped[11:12]
        engine = open_duckdb(path)
        engine.fingerprint(b"key")
        getattr(engine, ask)(SELECTION)
        mapped[11:12] = b"7"

        with pytest.raises(UnreadableSource, match="changed"):
            getattr(engine, ask)(SELECTION)
