"""Size budgets: files, functions, classes and parameter lists stay small enough to be read in one go.

Each measure is also tried on a made-up file that breaks it, so that a budget cannot pass by measuring nothing.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGE, ROOT, NamedFunction, Source, library, p95, read

FILE_LINES_P95, FILE_LINES_MAX = 350, 600
FUNCTION_SLOC_P95, FUNCTION_SLOC_MAX = 30, 60
METHODS_PER_CLASS = 15
PARAMETERS = 6
POSITIONAL_PARAMETERS = 3
INHERITANCE_DEPTH = 2
FULLY_DOCUMENTED = ("mechanisms", "accounting", "noise")
# Lines of tests for each line of code, where a guarantee is made, and the tests that are about it. Engines and ledgers
# are not held to it: each of their tests is written once and run on every kind of data, or on every store.
TESTS_TO_CODE = 1.5
TESTS_OF = {
    "mechanisms": ("unit/mechanisms", "unit/weighting", "privacy", "data"),
    "accounting": ("unit/accounting", "laws"),
    "noise": ("unit/noise", "statistical"),
}

# Functions whose parameters are read in order at every call. Each must still need its place here.
POSITIONAL_EXCEPTIONS = {
    "src/hushcount/errors.py::InvalidParameter.__init__": "what was given, what it must be: read as a sentence",
}


def long_files(sources: tuple[Source, ...]) -> tuple[int, list[str]]:
    """The 95th percentile of file lengths, and the files over the hard limit."""
    lengths = {source.name: len(source.text.splitlines()) for source in sources if len(source.code_lines) > 5}
    return p95(lengths.values()), [f"{name}: {n} lines" for name, n in lengths.items() if n > FILE_LINES_MAX]


def long_functions(sources: tuple[Source, ...]) -> tuple[int, list[str]]:
    """The 95th percentile of function lengths, and the functions over the hard limit."""
    functions = [function for source in sources for function in source.functions]
    over = [f"{function}: {function.sloc} lines of code" for function in functions if function.sloc > FUNCTION_SLOC_MAX]
    return p95(function.sloc for function in functions), over


def crowded_classes(sources: tuple[Source, ...]) -> list[str]:
    """Classes with too many methods."""
    found = []
    for source in sources:
        for node in source.classes:
            methods = sum(isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) for child in node.body)
            if methods > METHODS_PER_CLASS:
                found.append(f"{source.name}::{node.name}: {methods} methods")
    return found


def crowded_parameters(sources: tuple[Source, ...]) -> list[str]:
    """Functions with too many parameters."""
    functions = [function for source in sources for function in source.functions]
    return [f"{f}: {', '.join(f.parameters)}" for f in functions if len(f.parameters) > PARAMETERS]


def positional_parameters(sources: tuple[Source, ...]) -> list[NamedFunction]:
    """Public functions and constructors that take more than three parameters by position."""
    functions = [function for source in sources for function in source.functions]
    callable_by_all = [f for f in functions if f.is_public or f.path[-1] == "__init__"]
    return [f for f in callable_by_all if len(f.positional) > POSITIONAL_PARAMETERS]


def without_return_type(sources: tuple[Source, ...]) -> list[str]:
    """Functions that do not say what they return."""
    return [str(f) for source in sources for f in source.functions if f.node.returns is None]


def undocumented(sources: tuple[Source, ...]) -> list[str]:
    """Public functions without a docstring."""
    return [str(f) for source in sources for f in source.functions if f.is_public and not ast.get_docstring(f.node)]


def deep_classes(sources: tuple[Source, ...]) -> list[str]:
    """Classes that stand too deep below other classes of ours."""
    bases = {
        node.name: [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]
        for source in sources
        for node in source.classes
    }

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases and base != name), default=0)

    return [f"{name}: depth {depth(name)}" for name in bases if depth(name) > INHERITANCE_DEPTH]


def lines_of_code(sources: tuple[Source, ...]) -> int:
    """Lines that hold code, of all files together."""
    return sum(len(source.code_lines) for source in sources)


def test_files_are_short():
    """A file is read in one go: p95 at most 350 lines, none over 600."""
    percentile, over = long_files(library())

    assert not over
    assert percentile <= FILE_LINES_P95


def test_functions_are_short():
    """A function fits on a screen: p95 at most 30 lines of code, none over 60."""
    percentile, over = long_functions(library())

    assert not over
    assert percentile <= FUNCTION_SLOC_P95


def test_functions_of_studies_are_short():
    """A function of a study fits on a screen, too."""
    assert not long_functions(read(ROOT / "studies"))[1]


def test_classes_are_small():
    """A class has at most 15 methods."""
    assert not crowded_classes(library())


def test_parameter_lists_are_short():
    """A function has at most six parameters; what is more goes into a frozen dataclass."""
    assert not crowded_parameters(library())


def test_parameters_beyond_three_are_keyword_only():
    """A call with four values in a row cannot be read, so the fourth is named."""
    found = {str(f) for f in positional_parameters(library())}

    assert not found - POSITIONAL_EXCEPTIONS.keys()


def test_positional_exceptions_are_still_needed():
    """An exception that nothing needs any more is taken out."""
    found = {str(f) for f in positional_parameters(library())}

    assert not POSITIONAL_EXCEPTIONS.keys() - found


def test_every_function_states_its_return_type():
    """Return annotations are complete."""
    assert not without_return_type(library())


@pytest.mark.parametrize("folder", FULLY_DOCUMENTED)
def test_public_functions_are_documented(folder):
    """Where a guarantee is made, every public function says what it does."""
    sources = tuple(source for source in library() if f"src/hushcount/{folder}/" in source.name)

    assert sources
    assert not undocumented(sources)


@pytest.mark.parametrize("folder", TESTS_OF)
def test_tests_outweigh_the_code(folder):
    """Where a guarantee is made, there are at least three lines of tests to two of code."""
    code = lines_of_code(read(PACKAGE / folder))
    tests = sum(lines_of_code(read(ROOT / "tests" / place)) for place in TESTS_OF[folder])

    assert code > 300
    assert tests >= TESTS_TO_CODE * code


def test_inheritance_is_shallow():
    """Our classes stand at most two deep."""
    assert not deep_classes(library())


def made_up(text: str) -> tuple[Source, ...]:
    """One file that exists only here."""
    return (Source(Path("made_up.py"), text),)


def test_long_files_are_seen():
    """A file of 700 lines of code breaks both limits."""
    percentile, over = long_files(made_up("x = 1\n" * 700))

    assert percentile > FILE_LINES_P95
    assert over


def test_lines_of_code_are_counted():
    """Docstrings, comments and blank lines are none."""
    assert lines_of_code(made_up('"""Say."""\n\n# why\nx = (\n    1\n)\n')) == 3


def test_long_functions_are_seen():
    """A body of 61 lines is too long; the same body as a docstring or comments is not."""
    percentile, over = long_functions(made_up("def f():\n" + "    x = 1\n" * 61))
    words = "\n    word\n" * 61
    harmless = made_up(f'def f():\n    """Say.\n{words}    """\n' + "    # why\n\n" * 61 + "    return 1\n")

    assert percentile > FUNCTION_SLOC_P95
    assert over
    assert long_functions(harmless) == (2, [])


def test_crowded_classes_are_seen():
    """Sixteen methods are too many."""
    methods = "".join(f"    def m{i}(self): ...\n" for i in range(16))

    assert crowded_classes(made_up(f"class C:\n{methods}"))


def test_crowded_parameters_are_seen():
    """Seven parameters are too many, self not counted."""
    assert crowded_parameters(made_up("def f(a, b, c, d, e, f, g): ..."))
    assert not crowded_parameters(made_up("class C:\n    def f(self, a, b, c, d, e, f): ..."))


def test_positional_parameters_are_seen():
    """Four by position are too many, for functions, constructors and static methods alike."""
    assert positional_parameters(made_up("def f(a, b, c, d): ..."))
    assert positional_parameters(made_up("class C:\n    def __init__(self, a, b, c, d): ..."))
    assert positional_parameters(made_up("class C:\n    @staticmethod\n    def f(a, b, c, d): ..."))
    assert not positional_parameters(made_up("class C:\n    def f(self, a, b, c, *, d): ..."))


def test_missing_words_are_seen():
    """A missing return type and a missing docstring are found, in methods too."""
    text = "class C:\n    def f(self): ...\n"

    assert without_return_type(made_up(text)) == ["made_up.py::C.f"]
    assert undocumented(made_up(text)) == ["made_up.py::C.f"]


def test_deep_classes_are_seen():
    """A grandchild is too deep."""
    assert deep_classes(made_up("class A: ...\nclass B(A): ...\nclass C(B): ..."))
