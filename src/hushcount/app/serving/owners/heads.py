"""Heads: the newest links of every book, kept outside of the ledger, so that a ledger that was put back is noticed.

A ledger that is restored from a copy has forgotten what was spent since. It cannot know that; whoever kept a link can.
So a service writes the heads into a file of its own from time to time, and starts frozen if one is missing.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hushcount.app.serving.owners.freezing import FREEZE
from hushcount.errors import LedgerMismatch
from hushcount.ledger.ledger import EVERY, Ledger, Page

_WHY = (
    "the ledger is not the one that this service last wrote to: it was put back from a copy, or changed. What was "
    "spent since is not in it. An owner decides: raise or cut limits, then lift the freeze."
)


def missing_heads(ledger: Ledger, kept: Mapping[str, tuple[int, str]], *, by: str) -> tuple[str, ...]:
    """The books whose kept link is not in the ledger any more."""
    lost = []
    for entity, (seq, hash_) in kept.items():
        found = ledger.history(Page(entity=entity, after=seq - 1, size=1), by=by)
        if not found or (found[0].seq, found[0].hash) != (seq, hash_):
            lost.append(entity)
    return tuple(lost)


def freeze_if_restored(ledger: Ledger, path: Path, *, by: str) -> bool:
    """Stop all questions if a link that was kept is missing; True if so."""
    kept = read_heads(path)
    if not missing_heads(ledger, kept, by=by):
        return False
    ledger.records.put(FREEZE, EVERY, {"why": _WHY}, owner=by, by=by)
    return True


def read_heads(path: Path) -> dict[str, tuple[int, str]]:
    """The links that were kept; none if there is no file yet.

    Raises:
        LedgerMismatch: there is a file, and it cannot be read: what it knew is not known.
    """
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
        return {entity: (int(seq), str(hash_)) for entity, (seq, hash_) in form.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        raise LedgerMismatch(
            f"the kept links in {str(path)!r} cannot be read, so nobody can tell whether the ledger was put back. If "
            "it was not, remove the file. Nothing was started."
        ) from None


def keep_heads(ledger: Ledger, path: Path) -> None:
    """Write the newest links, all or none of them."""
    heads = {head.entity: (head.seq, head.hash) for head in ledger.heads()}
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({entity: list(link) for entity, link in heads.items()}, file)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
