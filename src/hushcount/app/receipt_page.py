"""A receipt for those who were not there: an HTML page by itself, with no script and nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import TypeAlias

from hushcount.accounting import zcdp
from hushcount.accounting.spent import EXACT, Spent
from hushcount.ledger.limits import NEW_ORDER, more_like, ten_standard_releases
from hushcount.model.budgets import DEFAULT_DELTA, PRESETS, STANDARD
from hushcount.model.frozen import frozen

_CSS = (
    ":root{color-scheme:light dark;--ink:#1c1c1c;--soft:#5c5c5c;--line:#d9d9d9;--back:#fff;--loud:#9b1c1c}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--soft:#a8a8a8;--line:#444;--back:#161616;--loud:#ff9b9b}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46em;margin:2em auto;padding:0 1em;color:var(--ink);"
    "background:var(--back)}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.3em .8em .3em 0;"
    "border-bottom:1px solid var(--line);overflow-wrap:anywhere}"
    "th{font-weight:600;white-space:nowrap;overflow-wrap:normal}.wide{white-space:normal;overflow-wrap:normal}"
    ".soft{color:var(--soft)}.loud{color:var(--loud);font-weight:600}@media print{body{margin:0}}"
)
# Nothing is fetched and nothing runs, whatever is in it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


Rows: TypeAlias = Sequence[tuple[str, ...]]


@frozen
class ReceiptPage:
    """What a page says, as texts; `facts` and `promise` are names with what they stand for.

    Attributes:
        title: its name.
        warning: what must be seen first; empty if nothing.
        facts: what was asked of what, and when.
        protected: who is protected, and how.
        left_out: what is not in the answer, in sentences.
        promise: the guarantee in numbers.
        comparison: whether these can be compared.
        reference: the delta at which epsilons are compared.
    """

    title: str
    warning: str
    facts: Rows
    protected: str
    left_out: Sequence[str]
    promise: Rows
    comparison: str
    reference: Decimal


@frozen
class Size:
    """What releases of one size mean.

    Attributes:
        preset: the size by its name.
        releases: in standard releases.
        epsilon: of one such release at most, at the reference delta.
        fit: how many fit into a month, as a data set starts out.
        month: epsilon of all of these at most, at `month_delta`.
        month_delta: twice the delta of that limit, since the limit itself needs half of it.
    """

    preset: str
    releases: float
    epsilon: float
    fit: int
    month: float
    month_delta: Decimal


def sizes(reference: Decimal) -> tuple[Size, ...]:
    """All presets. By the orders that new ledgers know, which never say too little."""
    month = ten_standard_releases().ceiling
    total = EXACT.multiply(2, month.delta)
    found = []
    for preset, rho in PRESETS.items():
        one = Spent(rho=Decimal(rho), delta=Decimal(DEFAULT_DELTA))
        fit = more_like(month, one) or 0
        many = Spent(rho=EXACT.multiply(fit, one.rho), delta=EXACT.multiply(fit, one.delta))
        found.append(
            Size(
                preset=preset,
                releases=float(one.rho / STANDARD.rho),
                epsilon=_up(zcdp.epsilon_spent(one, reference, order=NEW_ORDER)),
                fit=fit,
                month=_up(zcdp.epsilon_spent(many, total, order=NEW_ORDER)),
                month_delta=total,
            )
        )
    return tuple(found)


def to_html(page: ReceiptPage) -> str:
    """The whole page."""
    parts = [
        f"<h1>{safe(page.title)}</h1>",
        f"<p class=loud>{safe(page.warning)}</p>" if page.warning else "",
        table(page.facts),
        f"<h2>What is protected</h2><p>{safe(page.protected)}</p>",
        f"<h2>What was left out</h2>{''.join(f'<p>{safe(one)}</p>' for one in page.left_out)}",
        f"<h2>The promise in numbers</h2>{table(page.promise)}<p class=soft>{safe(page.comparison)}</p>",
        f"<h2>What a release of each size means</h2>{_sizes(page.reference)}",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{safe(page.title)}</title><style>{_CSS}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _sizes(reference: Decimal) -> str:
    found = sizes(reference)
    heads = [
        "Preset",
        "Standard releases",
        f"Epsilon of one, at delta = {float(reference):g}",
        "Fit into a month",
        f"Epsilon of that month, at delta = {float(found[0].month_delta):g}",
    ]
    rows = [
        (one.preset, f"{one.releases:g}", f"at most {one.epsilon:g}", f"{one.fit:,}", f"at most {one.month:g}")
        for one in found
    ]
    note = (
        f"A month has {float(ten_standard_releases().ceiling.rho / STANDARD.rho):g} standard releases unless its owner "
        f"says otherwise, of rho and of delta alike: every preset takes the same delta of {DEFAULT_DELTA}."
    )
    return f"{table(rows, heads)}<p class=soft>{safe(note)}</p>"


def table(rows: Rows, heads: Sequence[str] = ()) -> str:
    """A table; without heads the first of each row says what the second is."""
    if not heads:
        return (
            f"<table>{''.join(f'<tr><th>{safe(name)}</th><td>{safe(text)}</td></tr>' for name, text in rows)}</table>"
        )
    head = "".join(f"<th class=wide>{safe(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td class=wide>{safe(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def safe(text: str) -> str:
    """A text that is nothing but text in HTML; halves of characters, which no file can hold, are spelt out."""
    return html.escape(text.encode("utf-8", "backslashreplace").decode())


def _up(value: float) -> float:
    return float(Context(prec=3, rounding=ROUND_CEILING).plus(Decimal(value)))
