"""The library in a notebook: names, help, short words, cards, pictures that show themselves, errors without insides."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
import traceback

import pytest

import hushcount
from hushcount.app.options import Options


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The sample log."""
    return hushcount.sample_log(tmp_path_factory.mktemp("log") / "log.parquet", readers=2000)


@pytest.fixture(scope="module")
def release(log):
    """A count of it, with nobody who keeps count."""
    return hushcount.count(log, user="reader", item="article", ledger=False)


def shown(value):
    """What a notebook would show of a value, richest first, as IPython's formatters look for it."""
    for name in ("_repr_html_", "_repr_png_"):
        method = getattr(type(value), name, None)
        if method is not None and (made := method(value)) is not None:
            return name, made
    return "__repr__", repr(value)


def test_names_are_the_public_ones_whatever_was_loaded(release):
    """After a question was asked, too, completion shows what is for users, and none of the folders behind it."""
    assert len(release)
    assert {name for name in dir(hushcount) if not name.startswith("__")} == set(hushcount.__all__) - {"__version__"}


def test_all_public_names_are_listed_and_there():
    """Before any of them was used, and without loading anything heavy."""
    code = "import sys, hushcount; print(set(hushcount.__all__) <= set(dir(hushcount)), 'numpy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603

    assert told.split() == ["True", "False"]
    for name in hushcount.__all__:
        assert getattr(hushcount, name) is not None, name
    assert hushcount.errors.UnknownColumn.__mro__[1] is hushcount.errors.HushcountError


@pytest.mark.parametrize("verb", ["count", "top", "vocab", "people", "estimate"])
def test_help_shows_every_option(verb):
    """With its name in the signature and its sentence in the text; what the verb refuses is not there."""
    function = getattr(hushcount, verb)
    options = [name for name in inspect.signature(function).parameters if name in Options.__annotations__]
    text = pydoc.plain(pydoc.render_doc(function))

    assert "options" not in inspect.signature(function).parameters
    assert {"where", "preset", "keys", "ledger"} <= set(options)
    assert ("k" in options) == (verb in {"top", "estimate"})
    for name in options:
        assert f"        {name}: " in text, name
    assert ("text" in options) == (verb != "people")
    assert "several columns: CSV" in text


def test_every_option_is_explained_once():
    """The docstring that help quotes names exactly the options that there are."""
    told = pydoc.plain(pydoc.render_doc(hushcount.estimate))

    for name in Options.__annotations__:
        assert told.count(f"\n        {name}: ") == 1, name


def test_short_words_and_cards(release):
    """A line for a terminal, a card for a notebook; no screen of arrays."""
    price = hushcount.estimate(user="u", item="i")

    for value in (
        release,
        release.receipt,
        price,
        hushcount.compare((release, release.items[0]), (release, release.items[1])),
    ):
        assert len(repr(value)) < 160
        assert repr(value).startswith(f"<{type(value).__name__}")
        name, card = shown(value)
        assert name == "_repr_html_"
        assert card.startswith("<div")
        assert "<script" not in card
    assert release.receipt.id in repr(release)
    assert "standard release" in repr(price)


def test_a_plot_shows_itself_without_a_backend(log):
    """In a process that never imported pyplot: the value of the cell is a picture."""
    code = (
        "import sys, hushcount\n"
        f"found = hushcount.top({str(log)!r}, user='reader', item='article', k=3, ledger=False).plot()\n"
        "print(found._repr_png_()[:4], 'matplotlib.pyplot' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603

    assert told.strip() == r"b'\x89PNG' False"


def test_errors_show_no_insides(log, monkeypatch):
    """Two frames, the caller's and ours, and no cause; all of it where it is asked for."""

    def told():
        with pytest.raises(hushcount.errors.UnknownColumn, match="Did you mean 'reader'") as caught:
            hushcount.count(log, user="raeder", item="article", ledger=False)
        return traceback.format_exception(caught.value)

    short = told()
    monkeypatch.setenv("HUSHCOUNT_DEBUG", "1")

    assert "".join(short).count("  File ") == 2
    assert "engines" not in "".join(short)
    assert "Nothing was charged." in short[-1]
    assert "engines" in "".join(told())


def test_the_sample_log_is_the_same_every_time(log, tmp_path):
    """Byte for byte by the number of readers; without a name in a new folder; refused where it cannot be."""
    again, elsewhere = hushcount.sample_log(tmp_path / "log.parquet", readers=2000), hushcount.sample_log(readers=10)

    assert again.read_bytes() == log.read_bytes()
    assert elsewhere.exists()
    for path, readers in ((tmp_path / "log.csv", 10), (tmp_path / "none" / "log.parquet", 10), (None, 0)):
        with pytest.raises(hushcount.errors.InvalidParameter):
            hushcount.sample_log(path, readers=readers)
    elsewhere.unlink()
    elsewhere.parent.rmdir()
