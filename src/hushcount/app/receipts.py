"""The receipts of this user's releases, one JSON file each, found again by their id."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hushcount.app.receipt import Receipt
from hushcount.errors import InvalidParameter


def keep(receipt: Receipt, folder: Path | None) -> Path | None:
    """Write the receipt to its file; None where nothing is kept or can be written."""
    if folder is None:
        return None
    path = folder / f"{receipt.id}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(receipt.to_json() + "\n", encoding="utf-8")
    except OSError:
        return None
    return path


def listed(folder: Path) -> list[Receipt]:
    """All that are kept and can be read, the newest first."""
    found = []
    for path in folder.glob("*.json"):
        # One that somebody edited, or that a later version wrote, must not hide all others.
        with suppress(OSError, ValueError, TypeError, LookupError):
            found.append(Receipt.from_json(path.read_text(encoding="utf-8")))
    return sorted(found, key=lambda receipt: (receipt.made, receipt.id), reverse=True)


def find(receipt_id: str, folder: Path) -> Receipt:
    """The receipt whose id begins with `receipt_id`; refused if there is none, or more than one."""
    if not receipt_id.isalnum():
        raise InvalidParameter("receipt", receipt_id, "letters and digits, as printed under a release")
    found = sorted(folder.glob(f"{receipt_id}*.json"))
    if len(found) != 1:
        known = ", ".join(path.stem for path in sorted(folder.glob("*.json"))[-5:]) or "none yet"
        raise InvalidParameter("receipt", receipt_id, f"the beginning of exactly one id (the last ones: {known})")
    return Receipt.from_json(found[0].read_text(encoding="utf-8"))
