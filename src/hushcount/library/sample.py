"""A made-up log to play with: nobody in it exists."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hushcount.app.sample import write_log
from hushcount.errors import InvalidParameter
from hushcount.library.surface import public

_MOST = 10_000_000


@public()
def sample_log(path: str | Path | None = None, *, readers: int = 3_000) -> Path:
    """Write the made-up reading log of a news site as Parquet, with columns reader, article and search; gives its path.

    The same readers make the same log. Since nobody in it exists, questions of it may be asked with `ledger=False`:
    then nothing is counted and they never run out.

    Args:
        path: where it is written; left out, in a new folder of this computer's temporary files.
        readers: how many people are made up.
    """
    if not isinstance(readers, int) or not 1 <= readers <= _MOST:
        raise InvalidParameter("readers", readers, f"a whole number from 1 to {_MOST:,}")
    if path is None:
        path = Path(tempfile.mkdtemp(prefix="hushcount-sample-")) / "reading-log.parquet"
    target = Path(path)
    if target.suffix != ".parquet":
        raise InvalidParameter("path", str(path), "a name that ends in .parquet")
    if not target.parent.is_dir():
        raise InvalidParameter("path", str(path), "in a folder that is there")
    write_log(target, readers)
    return target
