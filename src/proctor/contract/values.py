"""The words and the kinds of value that the contract's keys take.

Each kind reads what a person writes (text or a number) into a base unit, and tells an editor's
schema both forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from proctor import units
from proctor.contract import hosts


class WorkerKind(StrEnum):
    CLAUDE = "claude"
    CODEX = "codex"
    ACP = "acp"
    COMMAND = "command"


class BriefWay(StrEnum):
    """How a command gets its brief; as a file or an argument, its stdin is empty."""

    STDIN = "stdin"
    FILE = "file"
    ARGUMENT = "argument"


class Commits(StrEnum):
    SESSION_BRANCH = "session-branch"
    NONE = "none"


class OnFailed(StrEnum):
    """The tree after a failed verdict: stays at first, goes back at once, or always stays."""

    KEEP = "keep"
    ROLLBACK = "rollback"
    NEVER = "never"


class OnTampering(StrEnum):
    ESCALATE = "escalate"
    PARK = "park"
    STOP = "stop"
    RECORD = "record"


class SandboxKind(StrEnum):
    BWRAP = "bwrap"
    WEAK = "weak"
    NONE = "none"


class Git(StrEnum):
    """Whether the worker has git: where the workspace has a repository, or in any case."""

    AUTO = "auto"
    ALWAYS = "always"


class AgentSettings(StrEnum):
    """What a workspace brings for agents to run (settings, hooks, plugins, servers): shown empty, or as it is."""

    IGNORE = "ignore"
    TRUST = "trust"


class UnknownPaths(StrEnum):
    """What the gateway passes on beside calls of a model: nothing, questions for the models that there are, or all."""

    REFUSE = "refuse"
    MODELS = "models"
    PASS = "pass"  # noqa: S105


class Family(StrEnum):
    """A language in which models are asked."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"


class Billing(StrEnum):
    """How an upstream is paid."""

    METERED = "metered"
    SUBSCRIPTION = "subscription"


class Record(StrEnum):
    META = "meta"
    FULL = "full"


class Channel(StrEnum):
    """Where a notice goes without a command of one's own."""

    BELL = "bell"
    DESKTOP = "desktop"


_LONGEST_PATH, _LONGEST_NAME = 1024, 255
"""Characters of a path, and bytes of one name in it."""


class Amount:
    """A number as a person writes it (text or a number), read into its base unit and held between two bounds.

    The bounds are written likewise. With `off`, 0 is taken too: it switches the thing off. `why` says what the least
    rests on.
    """

    def __init__(
        self, parse: Callable[[units.Written], int], least: str, most: str, *, off: bool = False, why: str = ""
    ) -> None:
        self._parse, self._least, self._most = parse, parse(least), parse(most)
        self._examples = [least, most]
        self._off, self._why = off, f": {why}" if why else ""
        span = least if least == most else f"{least} to {most}"
        self._shown = f"{span}{', or 0, which switches it off' if off else ''}"

    def read(self, written: Any) -> int:
        """The amount in its base unit. ValueError where it is none, or beyond the bounds."""
        try:
            amount = self._parse(written)
            low = amount < self._least
        except units.OutOfRange as error:
            amount, low = -1, error.low
        if self._least <= amount <= self._most or (self._off and amount == 0):
            return amount
        shown, why = str(written).strip()[:40], self._why if low else ""
        raise ValueError(f"{shown!r} is too {'little' if low else 'much'}; it can be {self._shown}{why}")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return self.schema()

    def schema(self) -> dict[str, Any]:
        """What an editor is told."""
        one = self._parse("1")  # a bare number is seconds, dollars, bytes
        number = {"type": "number", "minimum": 0 if self._off else self._least / one, "maximum": self._most / one}
        return {"anyOf": [{"type": "string"}, number], "examples": self._examples}


class OneOrMany:
    """A list, where one word stands for a list of one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        many = handler(source)
        return core_schema.no_info_before_validator_function(lambda v: [v] if isinstance(v, str) else v, many)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        many = handler(core)
        return {"anyOf": [many, many["items"]]}


def never(value: Any) -> Any:
    """`never` as the absence of a limit."""
    return None if value == "never" else value


def argv(value: Any) -> Any:
    """A command as it is given. ValueError where it is written as for a shell, or names nothing."""
    if isinstance(value, str):
        raise ValueError("is a list of words, for no shell reads it: [" + ", ".join(value.split()[:8]) + "]")
    if isinstance(value, list) and not value:
        raise ValueError("names no program: write the command as a list of words, such as [pytest, -q]")
    return value


def program(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command that could be started, if its program is there. ValueError for any other."""
    if not words or not words[0].strip() or "\n" in words[0] or any("\0" in word for word in words):
        raise ValueError("must start with a program, and hold no NUL")
    return words


def relative_path(text: str) -> str:
    """A path inside the workspace, in its plain form. Raises `ValueError` for any other."""
    path = PurePosixPath(text)
    if not text.strip() or path.is_absolute() or text.startswith("~"):
        raise ValueError(f"{text[:80]!r} is not a path relative to the workspace")
    if ".." in path.parts:
        raise ValueError(f"{text[:80]!r} leaves the workspace")
    if not text.isprintable():
        raise ValueError(f"{text[:80]!r} holds a control character")
    if len(text) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        raise ValueError(f"{text[:80]!r} is longer than a path can be")
    if path.parts[:1] in ((".proctor",), (".git",)):
        raise ValueError(f"{text[:80]!r} lies in {path.parts[0]}, which no key may name")
    return str(path)


def _file(text: str) -> str:
    if text == ".":
        raise ValueError("'.' is the whole workspace; name a file in it")
    return text


def _area(text: str) -> str:
    if text == ".":
        raise ValueError("'.' is the whole workspace; name the parts of it")
    if "*" in text or "?" in text:
        raise ValueError(f"{text[:80]!r} is a pattern; name files and folders")
    return text


def _pattern(text: str) -> str:
    """A pattern that git reads as a person means it."""
    body = text.removeprefix("!")
    if not text.isprintable():
        raise ValueError(f"{text[:80]!r} holds a control character")
    if body.startswith("#") or not body.strip("/"):
        raise ValueError(f"{text[:80]!r} names nothing; patterns are those of .gitignore, such as dist/ or *.csv")
    if ".." in body.split("/") or body.startswith("~"):
        raise ValueError(f"{text[:80]!r} leaves the workspace; patterns are relative to it")
    if body.strip("/").split("/")[0] in (".proctor", ".git"):
        raise ValueError(f"{text[:80]!r} lies in {body.strip('/').split('/')[0]}, which no key may name")
    return text.removeprefix("./")


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{name[:80]!r} is not the name of an environment variable (the value is taken from yours)")
    return name


def _tool_pattern(text: str) -> str:
    if not re.fullmatch(r"[\w*?.-]+\(.+\)", text, re.DOTALL):
        raise ValueError(f"{text[:80]!r} is not a pattern of the form tool(glob), such as shell(pytest *) or read(*)")
    return text


def _address(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", text):
        raise ValueError(f"{text[:80]!r} is not an http or https address without a login in it")
    return text.rstrip("/")


def _name(text: str) -> str:
    if not re.fullmatch(r"[\w-]+", text):
        raise ValueError(f"{text[:80]!r} is no name: letters, digits, - and _")
    return text


def _header(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", text):
        raise ValueError(f"{text[:80]!r} is not the name of a header, such as x-api-key")
    return text


def _header_value(text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise ValueError("is not one line of plain characters, as a header has to be")
    return text


def _host(text: str) -> str:
    hosts.grant(text)
    return text


def _key_name(text: str) -> str:
    """Never the key itself: the contract is a file that the worker can read."""
    if not re.fullmatch(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.+|keyring:[^/]+/.+", text):
        raise ValueError("says where the key is, as env:NAME, file:PATH or keyring:SERVICE/USER, never the key itself")
    return text


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Words = Annotated[tuple[Text, ...], OneOrMany()]
_Word = Annotated[str, WithJsonSchema({"type": ["string", "number"]})]
Argv = Annotated[tuple[_Word, ...], Field(min_length=1), BeforeValidator(argv), AfterValidator(program)]
Goal = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=10_000)]
Name = Annotated[str, AfterValidator(_name)]
Header = Annotated[Text, AfterValidator(_header)]
HeaderValue = Annotated[Text, AfterValidator(_header_value)]

Duration = Annotated[int, Amount(units.parse_duration, "1ms", "3650d")]
"""Milliseconds."""
TIMEOUT = Amount(units.parse_duration, "1ms", "7d")
Seconds = Annotated[float, TIMEOUT, AfterValidator(lambda ms: ms / 1000)]
REPEATS = Amount(units.parse_count, "0", "100")
Size = Annotated[int, Amount(units.parse_size, "1B", "1024T")]
"""Bytes."""
Money = Annotated[int, Amount(units.parse_money, "$0", "$1,000,000")]
"""Micro-dollars; nothing is allowed and means free."""
Spend = Annotated[int, Amount(units.parse_money, "$0.000001", "$1,000,000")]
Number = Annotated[int, Amount(units.parse_count, "1", "1T")]
Share = Annotated[int, Amount(units.parse_percent, "0%", "100%")]
Percent = Annotated[int, Amount(units.parse_percent, "1%", "100%")]

RelativePath = Annotated[Text, AfterValidator(relative_path)]
OneFile = Annotated[RelativePath, AfterValidator(_file)]
Areas = Annotated[tuple[Annotated[RelativePath, AfterValidator(_area)], ...], OneOrMany()]
Patterns = Annotated[tuple[Annotated[Text, AfterValidator(_pattern)], ...], OneOrMany()]
"""In the language of `.gitignore`."""
Variables = Annotated[tuple[Annotated[Text, AfterValidator(_variable)], ...], OneOrMany()]
ToolPatterns = Annotated[tuple[Annotated[Text, AfterValidator(_tool_pattern)], ...], OneOrMany()]
Hosts = Annotated[tuple[Annotated[Text, AfterValidator(_host)], ...], OneOrMany()]
Address = Annotated[Text, AfterValidator(_address)]
KeyName = Annotated[Text, AfterValidator(_key_name)]
