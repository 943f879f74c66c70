"""Run studies and write their pages: `make study`, or `make study ARGS="sips-table-2 pcr-figures"` for some.

`make study ARGS=stale` makes those again whose page is not what the code would make now.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

from hushcount.mechanisms.mechanism import Mechanism
from studies.logs import real
from studies.page import index, opening, page
from studies.picture import draw
from studies.stamp import Stamp, code, sealed, stale, versions
from studies.study import Scale, Study
from studies.table import STUDIES, chosen

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "studies"
# Environments of other tools, which are made once: a study of peers asks each in its own.
PEERS = ROOT / ".cache" / "peers"


def write(study: Study, scale: Scale, folder: Path) -> tuple[str, ...]:
    """Run one study and write its page and its picture; the claims that do not hold."""
    # Before it runs: a file may be edited while it does.
    ran, made_by = set(study.reads), code(study)

    def find(name: str) -> Mechanism:
        ran.add(name)
        return scale.find(name)

    found = study.run(replace(scale, find=find))
    picture = draw(found.charts, study.title)
    text = page(study, found, Stamp(versions(ran), made_by))
    (folder / f"{study.name}.md").write_text(sealed(text, picture), encoding="utf-8")
    (folder / f"{study.name}.svg").write_text(picture, encoding="utf-8")
    return found.broken


def out_of_date(study: Study, folder: Path) -> list[str]:
    """Why a page has to be made again; nothing if it need not."""
    page_file, picture = folder / f"{study.name}.md", folder / f"{study.name}.svg"
    if not page_file.exists() or not picture.exists():
        return ["it is not there"]
    return stale(study, page_file.read_text(encoding="utf-8"), picture.read_text(encoding="utf-8"))


def write_index(folder: Path) -> None:
    """List every page that was written, with its opening sentence."""
    there = {study: folder / f"{study.name}.md" for study in STUDIES if (folder / f"{study.name}.md").exists()}
    said = {study: opening(path.read_text(encoding="utf-8")) for study, path in there.items()}
    (folder / "index.md").write_text(index(said), encoding="utf-8")


def main(names: list[str]) -> int:
    """Run the studies of these names, or all; not zero if a claim of one does not hold."""
    PAGES.mkdir(parents=True, exist_ok=True)
    broken: list[str] = []
    stale_only = names == ["stale"]
    for study in chosen([] if stale_only else names):
        if stale_only and not out_of_date(study, PAGES):
            continue
        begun = time.process_time()
        failed = write(study, Scale(log=real, peers=str(PEERS)), PAGES)
        taken = time.process_time() - begun
        print(f"{study.name}: {taken:.0f} s", *(f"\n  does not hold: {one}" for one in failed), flush=True)
        broken += failed
    write_index(PAGES)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
