"""The receipts of this user's releases, one JSON file each, found again by their id."""

from __future__ import annotations

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


def find(receipt_id: str, folder: Path) -> Receipt:
    """The receipt whose id begins with `receipt_id`; refused if there is none, or more than one."""
    if not receipt_id.isalnum():
        raise InvalidParameter("receipt", receipt_id, "letters and digits, as printed under a release")
    found = sorted(folder.glob(f"{receipt_id}*.json"))
    if len(found) != 1:
        known = ", ".join(path.stem for path in sorted(folder.glob("*.json"))[-5:]) or "none yet"
        raise InvalidParameter("receipt", receipt_id, f"the beginning of exactly one id (the last ones: {known})")
    return Receipt.from_json(found[0].read_text(encoding="utf-8"))
