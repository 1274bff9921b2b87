"""A check, and what it may ask for beside an exit code of 0."""

from __future__ import annotations

import shlex

import msgspec


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of what a check asks for; all that a rule names has to hold. Paths are relative to the workspace."""


class Expect(Rule, frozen=True, kw_only=True, omit_defaults=True):
    """What the output of `run` has to be."""

    text: str = ""
    """It holds this text."""
    regex: str = ""
    """Some of it matches this regular expression; `^` and `$` are the ends of a line."""
    json: str = ""
    """It is JSON that has something at this path, such as `$.a.b[0]`; with `[*]`, all that is there counts."""
    equals: str = ""
    """What stands at the `json` path, as JSON."""
    matches: str = ""
    """A regular expression for the text at the `json` path; what is no text is matched as JSON."""
    golden: str = ""
    """It is, byte for byte, what this frozen file holds."""


class Artifact(Rule, frozen=True, kw_only=True, omit_defaults=True):
    """A file that is there when `run` has ended, a regular one, and not empty."""

    path: str
    equals: str = ""
    """It is, byte for byte, what this frozen file holds."""
    differs: str = ""
    """It is anything but what this frozen file holds."""
    text: str = ""
    """It holds this text."""
    matches: str = ""
    """Some of it matches this regular expression."""


class Schema(Rule, frozen=True, kw_only=True, omit_defaults=True):
    """JSON that a schema describes: that of a file, or the output of `run`."""

    schema: str
    """The frozen file with the JSON Schema. What it refers to elsewhere is not fetched."""
    file: str = ""
    output: bool = False


class Page(Rule, frozen=True, kw_only=True, omit_defaults=True):
    """A page that a server gives, both in one sandbox; the server is ended afterwards."""

    run: tuple[str, ...]
    """The server: a program and its arguments, which stays in the foreground."""
    url: str
    status: int = 200
    """The answer's; a redirection is not followed."""
    text: str = ""
    """The answer holds this text."""
    matches: str = ""
    """Some of it matches this regular expression."""
    within: float = 30.0
    """Seconds from the server's start to the whole answer, or to the browser's document."""
    browser: str = ""
    """A program of the Chromium family; `text` and `matches` are for what it shows once the page's scripts have run."""


class CheckFact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A check as it was when the tasks were loaded. `timeout` in seconds; without `run` the rules alone count."""

    run: tuple[str, ...] = ()
    timeout: float = 300.0
    optional: bool = False
    expect: str | Expect | None = None
    allow_vacuous: bool = False
    repeat: int = 1
    """How often a pass is confirmed by a fresh run."""
    artifact: Artifact | None = None
    schema: Schema | None = None
    page: Page | None = None

    @property
    def expected(self) -> Expect:
        """What the output has to be; a plain text is one that it holds."""
        return self.expect if isinstance(self.expect, Expect) else Expect(text=self.expect or "")

    @property
    def title(self) -> str:
        """What tells it from others, in a few words: its command, else what it looks at."""
        if self.run:
            return shlex.join(self.run)
        looked = [f"artifact {self.artifact.path}"] if self.artifact else []
        looked += [f"schema {self.schema.schema} of {self.schema.file}"] if self.schema else []
        looked += [f"page {self.page.url}"] if self.page else []
        return ", ".join(looked)

    @property
    def files(self) -> dict[str, str]:
        """The files that it compares with, by the key that names each: they count as they were frozen."""
        rules = {
            "expect.golden": self.expected.golden,
            "artifact.equals": self.artifact.equals if self.artifact else "",
            "artifact.differs": self.artifact.differs if self.artifact else "",
            "schema.schema": self.schema.schema if self.schema else "",
        }
        return {key: path for key, path in rules.items() if path}

    @property
    def told(self) -> tuple[str, ...]:
        """What it asks for beside exit code 0, in plain words."""
        said = [f"its output {words}" for words in _expected(self.expected)]
        if one := self.artifact:
            said.append(f"{one.path} is there and not empty")
            said += [f"{one.path} equals {one.equals}"] if one.equals else []
            said += [f"{one.path} differs from {one.differs}"] if one.differs else []
            said += [f"{one.path} {words}" for words in _holds(one.text, one.matches)]
        if self.schema:
            said.append(f"{self.schema.file or 'its output'} is JSON as {self.schema.schema} describes it")
        if page := self.page:
            said.append(f"`{shlex.join(page.run)}` answers {page.url} with status {page.status} in {page.within:g} s")
            shown = f"the page in {page.browser}" if page.browser else "the page"
            said += [f"{shown} {words}" for words in _holds(page.text, page.matches)]
        return tuple(said)


def _holds(text: str, regex: str) -> list[str]:
    return [*([f"holds {text!r}"] if text else []), *([f"matches /{regex}/"] if regex else [])]


def _expected(rule: Expect) -> list[str]:
    said = _holds(rule.text, rule.regex)
    if rule.json:
        equals = f" that equals {rule.equals}" if rule.equals else ""
        matches = f" that matches /{rule.matches}/" if rule.matches else ""
        said.append(f"is JSON with something at {rule.json}{equals or matches}")
    return [*said, *([f"is exactly {rule.golden}"] if rule.golden else [])]
