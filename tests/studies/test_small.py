"""Every study at a small scale, on made-up logs: its claims hold, and a broken twin makes one of them fail."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from studies.page import page
from studies.picture import draw
from studies.stamp import Stamp
from studies.table import STUDIES
from tests.studies.twins import MECHANISMS, PIECES, SMALL

NAMES = [study.name for study in STUDIES]
BY_NAME = {study.name: study for study in STUDIES}


@pytest.mark.parametrize("name", NAMES)
def test_claims_hold_on_made_logs(name):
    """All of them, and the page and the picture can be made; every table has rows and every chart a line."""
    study = BY_NAME[name]
    found = study.run(SMALL)
    text, picture = page(study, found, Stamp("none", "none")), draw(found.charts, study.title)

    assert found.claims
    assert not found.broken
    assert found.sentence in " ".join(text.split())
    assert all(table.rows for table in found.tables)
    assert all(series.points for chart in found.charts for series in chart.series)
    assert "nan" not in picture
    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314  our own picture


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_twin_fails(name, monkeypatch):
    """A wrong mechanism, or a wrong piece of accounting, breaks a claim."""
    scale = SMALL
    if name in MECHANISMS:
        _, scale = MECHANISMS[name]
    else:
        _, place, piece = PIECES[name]
        monkeypatch.setattr(place, piece)

    assert BY_NAME[name].run(scale).broken


def test_every_study_has_one_twin():
    """None is without, and none is of a study that is gone."""
    assert sorted([*MECHANISMS, *PIECES]) == sorted(NAMES)
