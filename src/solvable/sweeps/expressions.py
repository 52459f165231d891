"""Arithmetic in sweep files, such as "0.05 * student.width" or "[[1, overlap], [overlap, 1]]": numbers, names, lists and a few
functions, nothing that runs."""

import ast
import math
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

LONGEST = 400  # characters
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: float(a) ** float(b) if abs(b) > 64 else a**b,
}
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "ceil": math.ceil, "exp": math.exp, "floor": math.floor, "log": math.log, "max": max, "min": min,
    "round": round, "sqrt": math.sqrt,
}  # fmt: skip


class Expression:
    """A parsed expression. `names` are the dotted names it uses; calling it with a function that looks them up gives its value."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise ValueError(f"{text[:20]!r}...: longer than {LONGEST} characters")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(f"{text!r}: is no expression") from None
        self.names = sorted(set(self._check(self._tree)))

    def _check(self, node: ast.AST) -> list[str]:
        """Refuse what is not arithmetic; the names that are used."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            return []
        if isinstance(node, ast.Name | ast.Attribute):
            return [self._name(node)]
        if isinstance(node, ast.List):
            return [name for part in node.elts for name in self._check(part)]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return self._check(node.left) + self._check(node.right)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return self._check(node.operand)
        if isinstance(node, ast.BoolOp):
            return [name for part in node.values for name in self._check(part)]
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
            parts = [part for part in (node.left, *node.comparators) if not _is_text(part)]
            return [name for part in parts for name in self._check(part)]
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if isinstance(node, ast.Call) and called in FUNCTIONS and not node.keywords:
            return [name for part in node.args for name in self._check(part)]
        raise ValueError(
            f"{self.text!r}: only numbers, names, lists of these, + - * / // % **, comparisons, and, or, not, and the functions "
            f"{', '.join(FUNCTIONS)} are understood"
        )

    def _name(self, node: ast.AST) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self._name(node.value)}.{node.attr}"
        if isinstance(node, ast.Name):
            return node.id
        raise ValueError(f"{self.text!r}: a name is missing before a dot")

    def __call__(self, look: Callable[[str], Any]) -> Any:
        try:
            return self._value(self._tree, look)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ValueError(f"{self.text!r}: {error}") from None

    def _value(self, node: Any, look: Callable[[str], Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return look(self._name(node))
        if isinstance(node, ast.List):
            return [self._value(part, look) for part in node.elts]
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, look), self._value(node.right, look)
            if not (isinstance(left, int | float) and isinstance(right, int | float)):
                raise ValueError(f"calculates with {left!r:.40} and {right!r:.40}, must be numbers")
            value = _BINARY[type(node.op)](left, right)
            if isinstance(value, complex) or not isinstance(value, int | float) or abs(value) > 1e300:
                raise ValueError(f"gives {str(value)[:40]}, which is no number to use")
            return value
        if isinstance(node, ast.UnaryOp):
            return _UNARY[type(node.op)](self._value(node.operand, look))
        if isinstance(node, ast.BoolOp):
            together = all if isinstance(node.op, ast.And) else any
            return together(self._value(part, look) for part in node.values)
        if isinstance(node, ast.Compare):
            values = [self._value(part, look) for part in (node.left, *node.comparators)]
            return all(_COMPARE[type(op)](*pair) for op, pair in zip(node.ops, pairwise(values), strict=True))
        return FUNCTIONS[node.func.id](*(self._value(part, look) for part in node.args))


def as_text(rule: Any) -> Any:
    """An expression from what files have: numbers, text, and lists of them, as [[1, "overlap"], ["overlap", 1]]."""
    if isinstance(rule, list):
        return f"[{', '.join(str(as_text(part)) for part in rule)}]"
    return repr(rule) if isinstance(rule, bool | int | float) else rule


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
