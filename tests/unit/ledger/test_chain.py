"""The chain's texts: one form for one content."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from hushcount.ledger.chain import canonical, decimal_text, digest, link

AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=36)


def test_the_order_of_keys_does_not_matter():
    """The same content has the same text and hash, in ASCII."""
    one, two = canonical({"b": 1, "a": "ü"}), canonical({"a": "ü", "b": 1})

    assert one == two == '{"a":"\\u00fc","b":1}'
    assert link(one) == digest(one.encode())


@given(AMOUNTS)
def test_amounts_keep_every_digit(value):
    """An amount's text is exact, plain, and the same for equal amounts."""
    text = decimal_text(value)

    assert Decimal(text) == value
    assert decimal_text(Decimal(text)) == text
    assert "E" not in text


def test_zero_has_one_text():
    """Zeros of any sign and scale are one text."""
    assert {decimal_text(Decimal(zero)) for zero in ("0", "-0", "0.000", "0E+7")} == {"0"}
