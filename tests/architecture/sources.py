"""The library's source files as syntax trees, and the measures that the budgets are set on."""

from __future__ import annotations

import ast
import io
import math
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
PACKAGE = SRC / "hushcount"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_HOLDS_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
_BLANK = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Source:
    """One Python file: its text, its syntax tree and which of its lines hold code."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text, filename=str(self.path))

    @property
    def name(self) -> str:
        """The path as people write it, from the root of the repository."""
        return self.path.relative_to(ROOT).as_posix() if self.path.is_relative_to(ROOT) else self.path.as_posix()

    @cached_property
    def code_lines(self) -> frozenset[int]:
        """Numbers of the lines that hold code: no docstrings, comments or blank lines."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in _BLANK:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in (self.tree, *_statements(self.tree)):
            if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node) is not None:
                text = node.body[0]
                lines.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
        return frozenset(lines)

    @cached_property
    def functions(self) -> tuple[NamedFunction, ...]:
        """Every function and method, nested ones too."""
        return tuple(_functions(self, self.tree, (), None))

    @cached_property
    def classes(self) -> tuple[ast.ClassDef, ...]:
        """Every class of the file."""
        return tuple(node for node in _statements(self.tree) if isinstance(node, ast.ClassDef))


@dataclass(frozen=True)
class NamedFunction:
    """A function with the name a person would call it by."""

    source: Source
    path: tuple[str, ...]
    node: Function
    owner: ast.AST | None

    def __str__(self) -> str:
        return f"{self.source.name}::{'.'.join(self.path)}"

    @property
    def is_public(self) -> bool:
        """Reachable by name from outside its module: no part is private and it is not nested in a function."""
        return not isinstance(self.owner, Function) and not any(part.startswith("_") for part in self.path)

    @property
    def is_method(self) -> bool:
        """Defined in a class body."""
        return isinstance(self.owner, ast.ClassDef)

    @property
    def sloc(self) -> int:
        """Lines of code of the whole function."""
        last = self.node.end_lineno or self.node.lineno
        return len(self.source.code_lines & frozenset(range(self.node.lineno, last + 1)))

    @property
    def positional(self) -> list[str]:
        """Names of the parameters that may be given by position, without self and cls."""
        names = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        static = any(ast.unparse(decorator) == "staticmethod" for decorator in self.node.decorator_list)
        return names[1:] if self.is_method and not static else names

    @property
    def parameters(self) -> list[str]:
        """Names of all parameters, without self and cls."""
        stars = [argument.arg for argument in (self.node.args.vararg, self.node.args.kwarg) if argument is not None]
        return [*self.positional, *(argument.arg for argument in self.node.args.kwonlyargs), *stars]


@cache
def library() -> tuple[Source, ...]:
    """All files of the package."""
    return read(PACKAGE)


def read(folder: Path) -> tuple[Source, ...]:
    """All Python files under `folder`, in order of their paths."""
    paths = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return tuple(Source(path, path.read_text(encoding="utf-8")) for path in paths)


def p95(values: Iterable[int]) -> int:
    """The smallest value that at least 95 of 100 values do not exceed; 0 if there are none."""
    ranked = sorted(values)
    return ranked[math.ceil(0.95 * len(ranked)) - 1] if ranked else 0


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right below a node. In expressions there are none, and most of a tree is expressions."""
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, _HOLDS_STATEMENTS))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node, each before its own parts."""
    for child in _parts(node):
        yield child
        yield from _statements(child)


def _functions(source: Source, node: ast.AST, path: tuple[str, ...], owner: ast.AST | None) -> Iterator[NamedFunction]:
    for child in _parts(node):
        if isinstance(child, Function):
            yield NamedFunction(source, (*path, child.name), child, owner)
            yield from _functions(source, child, (*path, child.name), child)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(source, child, (*path, child.name), child)
        else:
            yield from _functions(source, child, path, owner)
