"""What is in a page: its tags and attributes, and the text that people read."""

from __future__ import annotations

from html.parser import HTMLParser

# Text that is not read as such, and pictures, which have tests of their own.
_SILENT = {"script", "style", "title", "svg", "select", "noscript"}
_EMPTY = {"meta", "link", "img", "br", "input"}
# All that our templates are made of.
TAGS = frozenset(
    """html head meta title link script body a header div img nav span form button main footer h1 h2 h3 p section dl dt
    dd b i bdi input label select option fieldset legend output aside details summary code ul li table thead tbody tr th
    td svg rect path text desc textarea br small noscript ol blockquote pre caption datalist""".split()  # noqa: SIM905  lists of words are read as such
)
ATTRIBUTES = frozenset(
    """lang charset name content rel href type src defer class id alt aria-label aria-current method action value
    aria-labelledby aria-describedby aria-live role tabindex viewbox width height x y d rx text-anchor direction
    unicode-bidi preserveaspectratio data-live data-poll data-copy data-fragment for checked selected required
    placeholder autocomplete spellcheck min max step maxlength inputmode download scope http-equiv open
    disabled list title colspan""".split()  # noqa: SIM905  as above
)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.strange: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        if tag not in TAGS:
            self.strange.append(tag)
        self.strange += [f"{tag} {name}" for name in sorted(names - ATTRIBUTES)]
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]
        if tag in _SILENT and tag not in _EMPTY:
            self._silent.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent and self._silent[-1] == tag:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


def read(page: str) -> _Reader:
    """A page, read."""
    reader = _Reader()
    reader.feed(page)
    return reader


def strange(page: str) -> list[str]:
    """What is in a page that none of our templates has, and links that lead elsewhere."""
    reader = read(page)
    return reader.strange + [link for link in reader.links if not link.startswith(("/", "#"))]


def words(page: str) -> str:
    """What people read of a page."""
    return " ".join(" ".join(read(page).texts).split())
