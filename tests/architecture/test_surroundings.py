"""Nothing below the command line reads the environment, the working directory, the home folder or the user's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import Source, library

# Who may, and why: a file, or a folder with a slash at its end. Each must still need its place here.
ALLOWED = {
    "src/hushcount/cli/": "the command line is where surroundings become words",
    "src/hushcount/library/surroundings.py": "the one place of the library that looks around",
    "src/hushcount/engines/spark/session.py": "reads Spark's own variables, as every program of Spark does",
    "src/hushcount/audit/system/product.py": "gives the commands that it runs a home folder of their own",
}

MODULES = ("getpass", "pwd")
NAMES = {
    *(f"os.{name}" for name in ("environ", "environb", "getenv", "getenvb", "getcwd", "getcwdb", "getlogin")),
    *(f"os.path.{name}" for name in ("expanduser", "expandvars")),
    *(f"pathlib.{kind}.{name}" for kind in ("Path", "PosixPath", "WindowsPath") for name in ("cwd", "home")),
}
# Whatever it is called on: a path may come from anywhere.
METHODS = {"expanduser"}


def surroundings(source: Source) -> Iterator[str]:
    """Every place where the file looks at what is around the program, by import or by attribute."""
    known = dict(_imported(source.tree))
    for node in ast.walk(source.tree):
        found: list[str] = []
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = [name for _, name in _imported(node)]
        elif isinstance(node, ast.Attribute):
            root, _, rest = ast.unparse(node).partition(".")
            found = [f"{known.get(root, root)}.{rest}"]
        for name in found:
            if name in NAMES or name.split(".")[0] in MODULES or name.rpartition(".")[2] in METHODS:
                yield f"{source.name}:{node.lineno}: {name}"


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What each imported name of a file stands for, in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def may(name: str, place: str) -> bool:
    """Whether an entry of the list allows a file."""
    return name == place or (place.endswith("/") and name.startswith(place))


def test_surroundings_are_read_in_few_places():
    """Only files of the list look around; all others are given what they need."""
    others = [source for source in library() if not any(may(source.name, place) for place in ALLOWED)]

    assert len(others) > 100
    assert not [place for source in others for place in surroundings(source)]


def test_allowed_places_are_still_needed():
    """A place that looks at nothing any more is taken off the list."""
    looking = {source.name for source in library() if any(surroundings(source))}

    assert not [place for place in ALLOWED if not any(may(name, place) for name in looking)]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ['HOME']",
        "import os as system\nsystem.getenv('HOME')",
        "from os import environ",
        "from os import getcwd as here",
        "import os.path\nos.path.expanduser('~')",
        "from os import path\npath.expandvars('$HOME')",
        "from pathlib import Path\nPath.cwd()",
        "from pathlib import Path as P\nP.home()",
        "import pathlib\npathlib.Path.cwd()",
        "def f(place):\n    return place.expanduser()",
        "def f():\n    import getpass",
        "from getpass import getuser",
        "import pwd",
    ],
)
def test_looking_around_is_seen(text):
    """Every way of reading the surroundings that we know of is found."""
    assert list(surroundings(Source(Path("made_up.py"), text)))


def test_harmless_names_are_not_seen():
    """A name that only looks like one of them is let through."""
    text = "import os\nos.path.join('a', 'b')\nsetting.home\nfolder.cwd()\nclass C:\n    environ = 1\nC.environ\n"

    assert not list(surroundings(Source(Path("made_up.py"), text)))
