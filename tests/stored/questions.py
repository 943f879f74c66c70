"""Questions whose keyed answers were stored before the house was rebuilt: made-up rows, a fixed secret, all mechanisms.

The same key, question and data must give the same rows for ever: equal noise on a changed input would show the
difference (erratum 9), and an answer that was paid for must not be drawn anew.

Stored anew since, and why; in all others not a byte changed:

- `known-gumbel`: version 3, whose epsilon uses all of delta. Another version is other noise, items and counts.
- `gaussian-threshold`, `tsgd`, `tsgd-public`, `plume-threshold`: items and counts are those of before; intervals are
  given that the threshold was passed, and `gaussian-threshold` is charged the delta that it uses.
- `known-gaussian` is new.
- `ntm-unclipped`: version 6, whose intervals go by the final counts alone near the last item that is measured, which
  may turn to peeling before its third round, and which turns to it at once only where the crowd is clearly too small.
  Other noise, so other counts.
- `ntm`: version 7, as that, and its choices and losses take no more of rho than they need. Other noise as well.
- `hybrid-top`: version 4, which names with a part of rho only where it can clearly be done.
- `ladder`: version 3, whose tables lose less between their points.
- A wanted error is another question than before, with other noise: it is half of an interval now.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("answers.json")
SECRET = bytes(range(32))
_LISTED = tuple(f"item {number}" for number in range(12))
_BOUNDED = {"max_items_per_user": 3}

# Question, then everything that is said with it.
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("count", {}),
    ("count", {"rho": "2", "delta": "1e-5"}),
    ("count", {"method": "ntm-unclipped", "rho": "2", "delta": "1e-5"}),
    ("count", {"method": "pcr-batched"}),
    ("count", {"method": "pcr"}),
    ("count", {"method": "pcr", "per_item_cap": 3}),
    ("count", {"preset": "generous"}),
    ("count", {"per_item_cap": 3}),
    ("count", {"where": "country = 'NZ' AND age >= 30"}),
    ("count", {"where": "NOT (country <> 'NZ') OR age BETWEEN 20 AND 25"}),
    ("count", {"where": "day >= date('2026-03-01')"}),
    ("count", {"epsilon": 2, "delta": "1e-5", "max_items_per_user": 1}),
    ("count", {"error": 40, "max_items_per_user": 2}),
    ("count", {"error": "20%"}),
    ("count", {"error": "20%", "method": "pcr-batched"}),
    ("count", {"method": "tsgd", **_BOUNDED}),
    ("count", {"method": "tsgd-public", "keys": _LISTED, **_BOUNDED}),
    ("count", {"method": "gaussian-threshold", "per_item_cap": 2, **_BOUNDED}),
    ("count", {"method": "plume", **_BOUNDED}),
    ("count", {"method": "plume-threshold", **_BOUNDED}),
    ("count", {"method": "known-laplace", "keys": _LISTED}),
    ("count", {"method": "known-gaussian", "keys": _LISTED}),
    ("count", {"method": "unknown-laplace", **_BOUNDED}),
    ("top", {"k": 5}),
    ("top", {"k": 5, "counts": False}),
    ("top", {"k": 30, "counts": False, "preset": "cautious"}),
    ("top", {"k": 30, "per_item_cap": 2, "preset": "cautious"}),
    ("top", {"k": 5, "method": "unknown-gumbel"}),
    ("top", {"k": 5, "counts": False, "method": "unknown-gumbel"}),
    ("top", {"k": 4, "keys": _LISTED}),
    ("vocab", {}),
    ("vocab", {"max_items_per_user": 1}),
    ("vocab", {"text": "words", "ngrams": (1, 2)}),
    ("vocab", {"text": "words", "lower": False}),
    *(
        ("vocab", {"method": method, **_BOUNDED})
        for method in (
            *("ladder", "sips", "weighted-gaussian", "weighted-laplace", "count-gaussian", "count-laplace"),
            *("policy-gaussian", "policy-laplace", "greedy", "optimal"),
            *("sips-ks", "weighted-ks", "policy-ks"),
        )
    ),
)


def write_rows(path: Path) -> Path:
    """Four thousand made-up people, the same bytes on every machine."""
    lines = ["person,item,words,country,age,day"]
    for person in range(4_000):
        for place in range(1 + person % 7):
            item = (person * (place + 3) * 7919 + place) % (3 + 17 * (place + 1))
            country = ("NZ", "AU", "FR")[person % 3]
            day = f"2026-{1 + person % 12:02d}-{1 + place:02d}"
            lines.append(
                f"p{person:05d},item {item},Some word{item} of Item{item % 5},{country},{18 + person % 50},{day}"
            )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_secret(home: Path) -> Path:
    """A home with the fixed secret."""
    home.mkdir(mode=0o700)
    place = home / "secret"
    place.touch(mode=0o600)
    place.write_bytes(SECRET)
    return home


def said(question: str, options: dict[str, Any]) -> str:
    """A question in one line."""
    return f"{question} {json.dumps(options, sort_keys=True)}"


def shown(release: Any) -> dict[str, Any]:
    """What is compared of a release: a digest of its rows, how many there are, and what it cost."""
    rows = json.dumps(release.to_dict(), sort_keys=True).encode()
    return {
        "rows": len(release),
        "digest": hashlib.sha256(rows).hexdigest(),
        "cost": release.cost.to_json(),
        "cutoff": release.cutoff,
    }


def ask(question: str, options: dict[str, Any], path: Path) -> dict[str, Any]:
    """One question of the rows, by nobody's ledger."""
    import hushcount  # late, so that a home can be set first

    verb = getattr(hushcount, question)
    item = {} if "text" in options else {"item": "item"}
    return shown(verb(str(path), user="person", ledger=False, **item, **options))


def store(folder: Path) -> None:
    """Write the answers of this very build; done once, before the change."""
    os.environ["HUSHCOUNT_HOME"] = str(write_secret(folder / "home"))
    path = write_rows(folder / "rows.csv")
    answers = {said(*one): ask(*one, path) for one in QUESTIONS}
    STORED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
