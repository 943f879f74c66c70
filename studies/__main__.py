"""Run studies and write their pages: `make study`, or `make study ARGS="sips-table-2 pcr-figures"` for some."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from studies.logs import real
from studies.page import index, opening, page
from studies.picture import draw
from studies.study import Scale, Study
from studies.table import STUDIES, chosen

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "studies"
# Environments of other tools, which are made once: a study of peers asks each in its own.
PEERS = ROOT / ".cache" / "peers"


def write(study: Study, scale: Scale, folder: Path) -> tuple[str, ...]:
    """Run one study and write its page and its picture; the claims that do not hold."""
    found = study.run(scale)
    (folder / f"{study.name}.md").write_text(page(study, found), encoding="utf-8")
    (folder / f"{study.name}.svg").write_text(draw(found.charts, study.title), encoding="utf-8")
    return found.broken


def write_index(folder: Path) -> None:
    """List every page that was written, with its opening sentence."""
    there = {study: folder / f"{study.name}.md" for study in STUDIES if (folder / f"{study.name}.md").exists()}
    said = {study: opening(path.read_text(encoding="utf-8")) for study, path in there.items()}
    (folder / "index.md").write_text(index(said), encoding="utf-8")


def main(names: list[str]) -> int:
    """Run the studies of these names, or all; not zero if a claim of one does not hold."""
    PAGES.mkdir(parents=True, exist_ok=True)
    broken: list[str] = []
    for study in chosen(names):
        begun = time.process_time()
        failed = write(study, Scale(log=real, peers=str(PEERS)), PAGES)
        print(f"{study.name}: {time.process_time() - begun:.0f} s", *(f"\n  does not hold: {one}" for one in failed))
        broken += failed
    write_index(PAGES)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
