"""What tree-sitter-bash sees in a command line: every simple command, wherever it is nested, and what is odd."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cos.core.shell.flat import Redirect
from cos.core.shell.words import Word, literal, resolved

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Context = Literal[
    "list", "pipeline", "background", "negated", "subshell", "group", "loop", "condition", "function", "substitution",
    "heredoc",
]  # fmt: skip

_CONTEXTS: dict[str, Context] = {
    "list": "list",
    "pipeline": "pipeline",
    "negated_command": "negated",
    "subshell": "subshell",
    "compound_statement": "group",
    "for_statement": "loop",
    "c_style_for_statement": "loop",
    "while_statement": "loop",
    "if_statement": "condition",
    "case_statement": "condition",
    "function_definition": "function",
    "command_substitution": "substitution",
    "process_substitution": "substitution",
    "heredoc_redirect": "heredoc",
}
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_ASSIGNMENTS = frozenset({"variable_assignment", "variable_assignments"})
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_DEEPEST = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """One command with its words, without what surrounds it."""

    words: tuple[Word, ...]
    """The program's name first. Empty for a bare assignment or redirect."""
    assignments: tuple[str, ...] = ()
    """`FOO=1` before the name, as written."""
    redirects: tuple[Redirect, ...] = ()
    context: frozenset[Context] = frozenset()
    """What it stands in."""

    @property
    def argv(self) -> tuple[str, ...] | None:
        """What the program receives, or None when that cannot be told."""
        return tuple(word.text for word in self.words) if all(word.is_literal for word in self.words) else None


@dataclass(slots=True)
class TreeReading:
    """What was read. `fault` says what tree-sitter did not understand."""

    commands: list[SimpleCommand] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    loops: list[tuple[str, str]] = field(default_factory=list)
    has_comment: bool = False
    fault: str | None = None


def read_tree(data: bytes) -> TreeReading:
    """Every simple command in `data`, in order, also those inside substitutions and here-documents."""
    root = _parser().parse(data).root_node
    reading = TreeReading()
    walk = _Walk(data, reading)
    walk.check_coverage(0, root.start_byte)
    walk.check_coverage(root.end_byte, len(data))
    walk.visit(root, frozenset(), 0)
    if root.has_error:
        reading.fault = "it is no bash that can be understood"
    return reading


def _parser() -> Parser:
    # Loaded on the first command that is judged: programs that judge none need not pay for it.
    tree_sitter = importlib.import_module("tree_sitter")
    bash = importlib.import_module("tree_sitter_bash")
    parser: Parser = tree_sitter.Parser(tree_sitter.Language(bash.language()))
    return parser


class _Walk:
    def __init__(self, data: bytes, reading: TreeReading) -> None:
        self.data = data
        self.reading = reading

    def visit(self, node: Node, context: frozenset[Context], depth: int) -> None:
        if depth > _DEEPEST:
            self.reading.fault = "it is nested too deeply"
            return
        children = node.children
        self._check_gaps(node, children)
        if node.type == "comment":
            self.reading.has_comment = True
        if node.type in _COMMANDS:
            self._add(self._command(node, context))
        elif node.type in _ASSIGNMENTS and self._is_statement(node):
            self._add(SimpleCommand(words=(), assignments=(self._raw(node),), context=context))
        elif node.type == "redirected_statement":
            self._redirected(node, children, context, depth)
            return
        elif node.type == "function_definition" and (name := node.child_by_field_name("name")):
            self.reading.functions.append(self._raw(name))
        elif node.type == "for_statement" and (name := node.child_by_field_name("variable")):
            texts = [self._word(value).text for value in node.children_by_field_name("value")]
            self.reading.loops.append((self._raw(name), f"{{{','.join(texts)}}}" if len(texts) > 1 else "".join(texts)))
        self._visit_children(node, children, context, depth)

    def _visit_children(self, node: Node, children: list[Node], context: frozenset[Context], depth: int) -> None:
        if node.type in _CONTEXTS:
            context |= {_CONTEXTS[node.type]}
        if node.type == "program" and sum(child.is_named for child in children) > 1:
            context |= {"list"}
        for index, child in enumerate(children):
            following = children[index + 1].type if index + 1 < len(children) else ""
            self.visit(child, context | {"background"} if following == "&" else context, depth + 1)

    def _redirected(self, node: Node, children: list[Node], context: frozenset[Context], depth: int) -> None:
        """A redirect stands behind its command, or behind a list whose last command it belongs to."""
        before = len(self.reading.commands)
        redirects = tuple(self._redirects(node))
        for child in children:
            if child.type not in _REDIRECTS:
                self.visit(child, context, depth + 1)
        if len(self.reading.commands) > before:
            last = self.reading.commands[-1]
            self.reading.commands[-1] = SimpleCommand(
                words=last.words,
                assignments=last.assignments,
                redirects=last.redirects + redirects,
                context=last.context,
            )
        else:
            self._add(SimpleCommand(words=(), redirects=redirects, context=context))
        for child in children:
            if child.type in _REDIRECTS:
                self.visit(child, context, depth + 1)

    def _add(self, command: SimpleCommand) -> None:
        self.reading.commands.append(command)

    def _command(self, node: Node, context: frozenset[Context]) -> SimpleCommand:
        words: list[Word] = []
        assignments: list[str] = []
        for child in node.children:
            if child.type == "variable_assignment" and not words:
                assignments.append(self._raw(child))
            elif child.type not in _REDIRECTS and child.type != "comment":
                words.append(self._word(child))
        return SimpleCommand(
            words=tuple(words), assignments=tuple(assignments), redirects=tuple(self._redirects(node)), context=context
        )

    def _redirects(self, node: Node) -> Iterator[Redirect]:
        for child in node.children:
            if child.type == "heredoc_redirect":
                yield from self._heredoc(child)
            elif child.type in _REDIRECTS:
                yield from self._file_redirects(child)

    def _file_redirects(self, node: Node) -> Iterator[Redirect]:
        descriptor, operator = "", ""
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = self._raw(child)
            elif not child.is_named:
                operator = self._raw(child)
            else:
                yield Redirect(operator=operator, target=self._word(child), descriptor=descriptor)
        if operator.endswith("&-"):
            yield Redirect(operator=operator.removesuffix("-"), target=literal("-"), descriptor=descriptor)

    def _heredoc(self, node: Node) -> Iterator[Redirect]:
        body = "".join(self._raw(child) for child in node.children if child.type == "heredoc_body")
        yield Redirect(operator="<<", target=Word(raw=body, text=body, unknown=frozenset({"expansion"})))
        yield from self._redirects(node)

    def _word(self, node: Node) -> Word:
        raw = self._raw(node)
        word = resolved(raw)
        if word is None:
            self.reading.fault = f"the quotes in {raw[:40]!r} do not end"
            return Word(raw=raw, text=raw, unknown=frozenset({"expansion"}))
        return word

    def _is_statement(self, node: Node) -> bool:
        parent = node.parent
        return parent is None or parent.type not in {"command", "declaration_command", "variable_assignments"}

    def _raw(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode(errors="replace")

    def _check_gaps(self, node: Node, children: list[Node]) -> None:
        at = node.start_byte
        for child in children:
            self.check_coverage(at, child.start_byte)
            at = max(at, child.end_byte)
        if children:
            self.check_coverage(at, node.end_byte)

    def check_coverage(self, start: int, end: int) -> None:
        """tree-sitter passes over what it cannot place: what no node covers must be blank."""
        gap = self.data[start:end].replace(b"\\\n", b"")
        if gap.strip(b" \t\n"):
            self.reading.fault = f"{gap.decode(errors='replace')[:40]!r} in it is not understood"
