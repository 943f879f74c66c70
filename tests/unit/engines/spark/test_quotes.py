"""A quote that is left open is found, wherever quotes may stand."""

from __future__ import annotations

import io

import pytest

from hushcount.engines.spark.quotes import ends_outside_quotes


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("a,b\n1,x\n", True),
        ("a,b\n1,x", True),
        ('a,b\n1,5" disk\n', True),
        ('a,b\n1,""\n2,""""\n', True),
        ('a,b\n1,"x\n,y"\n', True),
        ('a,b\n1,"x"', True),
        ('a,b\n1,"x\n', False),
        ('a,b\n1,"x""\n2,y\n', False),
        ('a,b\n1,"', False),
    ],
)
def test_an_open_quote_is_found(text, closed):
    """Whatever stands within or beside the quotes."""
    assert ends_outside_quotes(io.BytesIO(text.encode()), ",") is closed
