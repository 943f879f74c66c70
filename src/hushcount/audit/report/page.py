"""The report as one HTML page: nothing to fetch, no scripts, light and dark, readable on a phone."""

from __future__ import annotations

import html
from collections.abc import Sequence

from hushcount.audit.finding import Finding, Step
from hushcount.audit.report.chart import draw_chart, draw_key
from hushcount.audit.report.report import BLIND_SPOTS, STEPS, Report, TwinVerdict

_STYLE = """
:root{--ink:#1b1f24;--soft:#5b6470;--paper:#fff;--card:#f6f7f9;--line:#d5dae1;--claim:#4c78a8;--exact:#1b1f24;
--box:#b5532a;--good:#1d6b3a;--bad:#a3212b}
@media (prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a3adba;--paper:#14171b;--card:#1d2127;--line:#39414b;
--claim:#7fb0e0;--exact:#e7eaee;--box:#f0a070;--good:#7fd39b;--bad:#ff8c8c}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:70rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2.5rem 0 .5rem}h3{font-size:1.05rem;margin:0 0 .25rem}
p{max-width:48rem;margin:.4rem 0}.soft{color:var(--soft)}
.verdict{border-left:.4rem solid;padding:.6rem 1rem;background:var(--card);font-size:1.1rem;max-width:none}
.holds{color:var(--good)}.broken{color:var(--bad)}.verdict span{color:var(--ink)}
.word{font-weight:600;white-space:nowrap}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));gap:1rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.9rem}
.card.broken{border:2px solid var(--bad);color:inherit}
.card ul{margin:.5rem 0 0;padding:0;list-style:none;font-size:.92rem}.card li{margin:.25rem 0;overflow-wrap:anywhere}
.chart{width:100%;height:auto;display:block}.chart text{font-size:15px;fill:var(--soft)}
.axis,.grid,.claim,.other,.above{fill:none}.above{stroke:var(--bad);stroke-width:2.5}
.axis{stroke:var(--soft)}.grid{stroke:var(--line);stroke-width:.6}
.claim{stroke:var(--claim);stroke-width:2}.exact{fill:var(--card);stroke:var(--exact);stroke-width:1.6}
.blackbox{fill:var(--box)}.other{stroke:var(--ink);stroke-width:2}
.key{width:1em;height:1em;vertical-align:-.12em}.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem}
.stroke{display:inline-block;width:1.6em;border-top:2px solid var(--claim);vertical-align:middle}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
thead th{color:var(--soft);font-weight:600}
dt{font-weight:600;margin-top:.8rem}dd{margin:0;max-width:48rem}
@media (max-width:44rem){thead{position:absolute;left:-999rem}tr{display:block;padding:.5rem 0;
border-bottom:1px solid var(--line)}th,td{display:block;border:0;padding:.1rem 0}
td::before{content:attr(data-label) ": ";color:var(--soft)}}
@media print{body{max-width:none}.card{break-inside:avoid}}
"""


def make_page(report: Report) -> str:
    """The whole page as text."""
    title = f"Audit of hushcount {report.version}"
    body = "".join(
        (
            f"<h1>{html.escape(title)}</h1>{_summary(report)}",
            f"<h2>Mechanisms</h2>{_legend()}<div class='cards'>",
            *(_card(report, name) for name in report.mechanisms),
            "</div><h2>System checks</h2>",
            _table(("check", "verdict", "claimed", "found", "looked at"), [_system_row(one) for one in report.system]),
            _twins(report),
            _blind_spots(report),
            "<h2>All findings</h2>",
            _table(_COLUMNS, [_finding_row(one) for one in report.findings if one.step != "system"]),
        )
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width,initial-scale=1'>"
        f"<meta name='color-scheme' content='light dark'><title>{html.escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


_COLUMNS = ("mechanism", "step", "verdict", "claimed", "largest loss measured", "where", "looked at")


def _summary(report: Report) -> str:
    word, _, rest = report.verdict().partition(":")
    state = "holds" if report.passed else "broken"
    how = "The quick run" if report.quick else "The full run"
    return (
        f"<p class='verdict {state}'><strong>{word}:</strong> <span>{html.escape(rest.strip())}</span></p>"
        "<p>An audit attacks the build that is installed, on made-up data. For each mechanism it compares the claimed "
        "guarantee with the largest privacy loss that it could show. It can show that a claim is broken; that "
        "nothing was found is evidence and no proof.</p>"
        f"<p class='soft'>{how}, {report.seconds:,.0f} seconds. A sound build fails an audit with probability at most "
        f"{report.false_alarm:.2g}, by design.</p>"
    )


def _legend() -> str:
    return (
        "<p>Each chart has the claim as a curve: for every epsilon the largest delta that it allows. What was measured "
        "must not be above it.</p><p class='legend soft'>"
        "<span><i class='stroke'></i> claimed</span>"
        f"<span>{draw_key('exact')} exact: all outputs were enumerated</span>"
        f"<span>{draw_key('black box')} black box: what samples prove, dashed where its claim is another</span></p>"
    )


def _card(report: Report, name: str) -> str:
    """A mechanism: of each step the finding that came nearest to its claim, drawn and in words."""
    found = [finding for step in STEPS if (finding := report.worst(name, step))]
    lines = "".join(
        f"<li>{_word(finding)} <b>{finding.step}</b>: {_claimed(finding)}{html.escape(finding.measured)}"
        f"{_others(report, finding)}</li>"
        for finding in found
    )
    state = "card" if all(finding.holds for finding in found) else "card broken"
    return f"<section class='{state}'><h3>{html.escape(name)}</h3>{draw_chart(name, found)}<ul>{lines}</ul></section>"


def _claimed(finding: Finding) -> str:
    """The claim in words where it is a curve; a replay's is the same for all and stands in the table."""
    return f"claimed {html.escape(finding.claimed)}; found " if finding.claim else ""


def _others(report: Report, shown: Finding) -> str:
    """That there are further findings of the step, in the table below."""
    more = len(report.of(shown.subject, shown.step)) - 1
    return f" <span class='soft'>(of {more + 1} variants, the nearest to its claim)</span>" if more else ""


def _word(finding: Finding) -> str:
    """The verdict with a sign and a word, so that colour is not needed."""
    if finding.holds:
        return "<span class='word holds'>✓ holds</span>"
    return "<span class='word broken'>✗ BROKEN</span>"


def _finding_row(finding: Finding) -> tuple[str, ...]:
    words = (finding.claimed, finding.measured, finding.where, finding.looked)
    return (html.escape(finding.subject), finding.step, _word(finding), *map(html.escape, words))


def _system_row(finding: Finding) -> tuple[str, ...]:
    found = f"{finding.measured} ({finding.where})"
    return (html.escape(finding.subject), _word(finding), *map(html.escape, (finding.claimed, found, finding.looked)))


def _twins(report: Report) -> str:
    if not report.twins:
        return "<h2>Broken variants</h2><p>None were attacked in this run.</p>"
    caught = len(report.twins) - len(report.missed)
    return (
        f"<h2>Broken variants: {caught} of {len(report.twins)} caught</h2>"
        "<p>Each is the product with one known mistake. An audit that lets one pass cannot be believed.</p>"
        + _table(("variant", "what is wrong", "caught by", "what was shown"), [_twin_row(one) for one in report.twins])
    )


def _twin_row(twin: TwinVerdict) -> tuple[str, ...]:
    step: Step | None = twin.caught_by
    word = f"<span class='word holds'>✓ {step}</span>" if step else "<span class='word broken'>✗ NOT CAUGHT</span>"
    return html.escape(twin.name), html.escape(twin.erratum), word, html.escape(twin.measured)


def _blind_spots(report: Report) -> str:
    spots = "".join(f"<dt>{html.escape(what)}</dt><dd>{html.escape(how)}</dd>" for what, how in BLIND_SPOTS)
    alarm = f"<p>False alarms: at most {report.false_alarm:.2g} of all runs on a sound build.</p>"
    return f"<h2>What such an audit cannot see</h2><dl>{spots}</dl>{alarm}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are HTML already; the first cell heads its row."""
    head = "".join(f"<th scope='col'>{name}</th>" for name in columns)
    lines = "".join(
        f"<tr><th scope='row'>{row[0]}</th>"
        + "".join(f"<td data-label='{name}'>{cell}</td>" for name, cell in zip(columns[1:], row[1:], strict=True))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
