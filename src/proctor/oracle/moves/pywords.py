"""Python's assertions without the words that they fail with. Pure."""

from __future__ import annotations

import ast
from typing import TypeVar, cast

from proctor.oracle.gaming.syntax import dotted

Node = TypeVar("Node", bound=ast.AST)
_ASSERTS = {
    **dict.fromkeys(("True", "False", "IsNone", "IsNotNone"), 1),
    **dict.fromkeys(("Equal", "NotEqual", "Is", "IsNot", "In", "NotIn", "IsInstance", "NotIsInstance", "Greater",
                     "GreaterEqual", "Less", "LessEqual", "Regex", "NotRegex", "ListEqual", "DictEqual", "SetEqual",
                     "TupleEqual", "SequenceEqual", "CountEqual", "MultiLineEqual"), 2),
}  # fmt: skip
"""How many values unittest's assertions take before the words that they fail with."""


def unworded(node: Node) -> Node:
    """An assertion without the words that it fails with, where these do nothing; anything else as it is."""
    told: ast.AST = node
    if isinstance(node, ast.Assert) and node.msg and _is_words(node.msg):
        told = ast.Assert(node.test, None)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        told = ast.Expr(unworded(node.value))
    elif isinstance(node, ast.Call) and dotted(node.func).startswith("self.assert"):
        most = _ASSERTS.get(dotted(node.func).removeprefix("self.assert"), len(node.args))
        keywords = [one for one in node.keywords if one.arg != "msg" or not _is_words(one.value)]
        args = node.args[:most] if all(map(_is_words, node.args[most:])) else node.args
        told = ast.Call(node.func, args, keywords)
    return cast(Node, told)


def _is_words(node: ast.expr) -> bool:
    """Whether an expression is a text that at most says what names stand for."""
    calm = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Name, ast.Attribute, ast.expr_context)
    is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    return is_text and all(isinstance(one, calm) for one in ast.walk(node))
