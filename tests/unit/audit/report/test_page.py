"""The page: whole HTML, nothing to fetch, every mechanism and verdict on it, shapes and words beside colours."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from hushcount.audit.finding import Point
from hushcount.audit.report.chart import draw_chart
from hushcount.audit.report.page import make_page
from hushcount.audit.report.report import BLIND_SPOTS, TwinVerdict
from hushcount.mechanisms.table import MECHANISMS
from tests.unit.audit.report.made_report import made_finding, made_findings, made_report

_VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Notes every tag and attribute, and tags that are left open."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.attributes, self.tags = [], [], [], []

    def handle_starttag(self, tag, attrs):
        """Open, unless it never closes."""
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Open and closed at once, as shapes are."""
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        """Close what was opened last."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def read(page):
    """The page, parsed."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def test_the_page_is_whole_and_fetches_nothing():
    """Tags are closed in order; no script, no link, no address, no picture from elsewhere."""
    page = make_page(made_report())
    reader = read(page)

    assert not reader.wrong
    assert not reader.open
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name in {"src", "href"}]
    assert "http" not in page.replace("http://www.w3.org", "")


def test_everything_is_on_the_page():
    """Each mechanism has its chart; checks, twins with what caught them, and what cannot be seen are there."""
    report = made_report()
    page = make_page(report)

    assert read(page).tags.count("svg") == len(MECHANISMS) + 2
    assert all(f"<h3>{entry.name}</h3>" in page for entry in MECHANISMS)
    assert all(twin.name in page and f"✓ {twin.caught_by}" in page for twin in report.twins)
    assert all(what in page for what, _ in BLIND_SPOTS)
    assert "1e-10" in page
    assert "at most 0.0004" in page


def test_broken_claims_are_told_in_words():
    """Without any colour: BROKEN at the top, at the mechanism and in the table; NOT CAUGHT at a twin."""
    findings = (made_finding("pcr", holds=False), made_finding("sips"))
    twins = (TwinVerdict(name="half the noise", erratum="", caught_by=None),)
    page = make_page(made_report(findings=findings, twins=twins))

    assert "<strong>BROKEN:</strong>" in page
    assert page.count("✗ BROKEN") == 2
    assert page.count("class='card broken'") == 1
    assert "✗ NOT CAUGHT" in page


def test_texts_are_escaped():
    """Words from findings cannot become markup."""
    page = make_page(made_report(findings=(made_finding("<b>&", where="<script>alert(1)</script>"),)))

    assert "<script" not in page
    assert "&lt;b&gt;&amp;" in page


def test_a_chart_tells_steps_apart_by_shape():
    """Rings for exact, squares for black box, a dashed line for its claim, and the same in words."""
    root = ET.fromstring(draw_chart("pcr", made_findings("pcr")))  # noqa: S314 (our own text)

    assert len([node for node in root.iter("circle") if node.get("class") == "exact"]) == 4
    assert len([node for node in root.iter("rect") if node.get("class") == "blackbox"]) == 2
    curves = [node for node in root.iter("path") if node.get("class") == "claim"]
    assert [node.get("stroke-dasharray") for node in curves] == [None, "7 4"]
    assert "claimed (1, 0.05)-DP" in root.findtext("desc")
    assert root.findtext("title").startswith("pcr")


def test_a_point_above_its_claim_is_ringed():
    """It stands higher on the paper than the curve, has a ring, and says so."""
    above = made_finding(holds=False, points=(Point(epsilon=1.0, delta=0.4), Point(epsilon=2.0, delta=0.01)))
    text = draw_chart("pcr", [above])

    assert text.count('class="above"') == 1
    assert "ABOVE THE CLAIM" in text
    heights = {node.get("cy") for node in ET.fromstring(text).iter("circle") if node.get("class") == "exact"}  # noqa: S314
    assert len(heights) == 2


@pytest.mark.parametrize(
    "points",
    [(), (Point(epsilon=1.0, delta=0.0),), (Point(epsilon=0.0, delta=1.0),), (Point(epsilon=3.0, delta=1e-12),)],
)
def test_odd_points_are_drawn(points):
    """No points, zero, one and tiny deltas, a single epsilon: no chart or a whole one, all inside the frame."""
    text = draw_chart("pcr", [made_finding(claim=(), points=points)])

    if not points:
        assert text == ""
        return
    marks = list(ET.fromstring(text).iter("circle"))  # noqa: S314
    assert len(marks) == 1
    assert 0 <= float(marks[0].get("cy")) <= 260
    assert 0 <= float(marks[0].get("cx")) <= 420


def test_many_points_are_thinned_out():
    """A curve of a hundred points keeps its shape and the point nearest to the claim."""
    points = tuple(Point(epsilon=place / 10, delta=0.01 + 0.0399 * (place == 10)) for place in range(100))
    text = draw_chart("pcr", [made_finding(points=points)])

    assert 10 <= text.count('class="exact"') <= 16
    assert "delta 0.0499 at epsilon 1<" in text
