"""The command line: find the verb, run it, show an error once, in one line."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from proctor import __version__
from proctor.cli.registry import BY_NAME, VERBS
from proctor.contract.wrong import nearest
from proctor.errors import ProctorError, UsageError, is_full
from proctor.text import safe_line
from proctor.tui.terminal import hushed, on_terminal
from proctor.words import ExitCode

_MAY_BE_EMPTY = ("note", "reason")
_ID_GOES = {"show": "--id", "export": "--id", "diff": "--from", "rollback": "--to"}


_SCREENS = {"run": "starting", "demo": "starting", "attach": "opening", "resume": ""}
_EXAMPLES = {"approve": "--id 1", "deny": "--id 1", "extend": "--dimension tokens --by 1M", "note": '"mind the commas"'}
"""Of verbs that need words, how they are written."""
_NO_VERB = re.compile(r"argument VERB: invalid choice: '(.*)' \(choose from .*", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line. An option is written in full: what is short for one today may be so for two."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **given})

    def error(self, message: str) -> NoReturn:
        if found := _NO_VERB.fullmatch(message):
            near = nearest(found[1], BY_NAME)
            message = f"no verb {safe_line(found[1], 60)!r}" + (f"; did you mean `proctor {near}`?" if near else "")
        elif "are required" in message and (example := _EXAMPLES.get(self.prog.rpartition(" ")[2])):
            message += f", as in `{self.prog} {example}`"
        message += "" if message.endswith("?") else ";"
        print(f"proctor: {message} see `{self.prog} --help`", file=sys.stderr)
        raise SystemExit(ExitCode.USAGE)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(prog="proctor", description="A terminal supervisor for long local agent sessions.")
    top.add_argument("--version", action="version", version=f"proctor {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", parser_class=Parser)
    for verb in VERBS:
        one = verbs.add_parser(verb.name, help=verb.help, description=verb.help[0].upper() + verb.help[1:] + ".")
        if verb.takes_dir and verb.name != "note":
            one.add_argument(
                "dir", nargs="?", default=".", metavar="DIR", help="the workspace; else the current folder"
            )
        for add in verb.arguments:
            add(one)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; its exit code."""
    words, command = _split(sys.argv[1:] if arguments is None else arguments)
    top = parser()
    given, extra = top.parse_known_args(words)
    if extra:
        hint = f"; the command comes last, after `--`: proctor sandbox {_meant(given, extra)}"
        hint = hint if given.verb == "sandbox" else _two_ids(given, extra)
        top.error(f"unrecognized arguments: {shlex.join(extra)}{hint}")
    if given.verb is None:
        top.print_help()
        return ExitCode.USAGE
    if empty := _empty(given):
        top.error(f"argument {empty}: there is nothing in it")
    given.command = command
    if given.verb == "note":
        named = len(given.text) > 1 and Path(given.text[0]).is_dir()
        given.dir, given.text = (given.text[0], given.text[1:]) if named else (".", given.text)
    if hasattr(given, "dir"):
        given.dir = Path(given.dir).resolve()
    try:
        _must_be_folder(given)
        with _opening(given):
            return BY_NAME[given.verb].run(given)
    except ProctorError as error:
        for line in str(error).splitlines() or [""]:
            print(f"proctor: {safe_line(line)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.OPERATOR
    except BrokenPipeError:
        # The reader went away: end quietly, as other tools do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        if not is_full(error):
            raise
        print(f"proctor: {safe_line(str(error))}: make room there, and try again", file=sys.stderr)
        return ExitCode.UNRECOVERABLE


@contextlib.contextmanager
def _opening(given: argparse.Namespace) -> Iterator[None]:
    """Before a screen: a word at once, and no key is echoed, for what it takes to load is longer than a blink."""
    word = _SCREENS.get(given.verb)
    if word is None or getattr(given, "headless", False) or getattr(given, "list", False) or not on_terminal():
        yield
        return
    with hushed():
        if word:
            print(f"proctor: {word} …", file=sys.stderr)
        yield


def _empty(given: argparse.Namespace) -> str | None:
    """An argument whose value is empty, such as a variable that was never set: it is not the same as none."""
    names = (name for name, value in vars(given).items() if value in ("", []) and name not in _MAY_BE_EMPTY)
    return next(("DIR" if name == "dir" else f"--{name.rstrip('_')}" for name in names), None)


def _must_be_folder(given: argparse.Namespace) -> None:
    """Refuse what is no folder, and say where an id goes that was given for one. `sandbox` looks for itself."""
    if not hasattr(given, "dir") or given.verb == "sandbox" or os.path.isdir(given.dir):
        return
    option = _ID_GOES.get(given.verb)
    hint = f"; a checkpoint is named with {option}: proctor {given.verb} {option} {given.dir.name}" if option else ""
    raise UsageError(f"{safe_line(str(given.dir), 4096)}: not a folder; name the project's folder{hint}")


def _meant(given: argparse.Namespace, extra: list[str]) -> str:
    """How a command that was written without `--` is to be written, as far as can be told."""
    folder = [given.dir] if Path(given.dir).is_dir() and given.dir != "." else []
    first = [] if Path(given.dir).is_dir() else [given.dir]
    return shlex.join([*folder, "--", *first, *extra])


def _two_ids(given: argparse.Namespace, extra: list[str]) -> str:
    """Where the ids go that were given to `diff` without their options."""
    if given.verb != "diff" or len(extra) != 1 or extra[0].startswith("-") or os.path.isdir(given.dir):
        return ""
    meant = shlex.join(["--from", given.dir, "--to", *extra])
    return f"; checkpoints are named with --from and --to: proctor diff {meant}"


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Of `sandbox [DIR] -- CMD…`, the command is not ours to parse."""
    if words[:1] != ["sandbox"] or "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


if __name__ == "__main__":
    sys.exit(main())
