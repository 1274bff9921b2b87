"""What a project is like before proctor touches it: its test command, agent CLIs, git state, ignored trees.

Only reads, never runs anything of the project: git is asked through plumbing that starts no hook, no
filter and no monitor. Looking is bounded, so that a huge tree costs a moment and not a minute.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.contract import testfiles
from proctor.lookup import find_program, search_path
from proctor.trees import walk

_SECRET = re.compile(
    r"\.env(\.[\w.-]+)?|\.?secrets?(\.(json|ya?ml|toml|env))?|credentials(\.json)?|\.netrc|id_(rsa|ecdsa|ed25519)"
    r"|[\w.-]+\.(pem|key|p12|pfx)"
)
_EXAMPLE = re.compile(r"example|sample|template|dist$|\.pub$")
_SECRETS = 20
_BESIDE = 40
"""Tests beside sources that a fresh contract names; `proctor check` counts the others."""
_PYTEST = ("-m", "pytest", "-q")
_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}


@dataclass(frozen=True, slots=True)
class Suite:
    """How a project's tests are run, what says so, and what they rest on (paths that exist). `lacks` says what is
    not installed or not run yet."""

    run: tuple[str, ...]
    why: str
    protect: tuple[str, ...] = ()
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's program, how a contract names it, a model that it can use, and where such models usually are."""

    program: str
    kind: str
    model: str
    upstream: str
    base_url: str
    key: str
    agent: str = ""
    priced: bool = True
    """Whether list prices know the model."""


_ANTHROPIC = ("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY")
_OPENAI = ("openai", "https://api.openai.com", "OPENAI_API_KEY")
_GEMINI = ("gemini", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY")
_QWEN = ("openai", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY")

AGENTS = (
    Agent("claude", "claude", "claude-sonnet-4-5", *_ANTHROPIC),
    Agent("codex", "codex", "gpt-5.5", *_OPENAI),
    Agent("opencode", "acp", "claude-sonnet-4-5", *_ANTHROPIC, "opencode"),
    Agent("gemini", "acp", "gemini-2.5-pro", *_GEMINI, "gemini"),
    Agent("qwen", "acp", "qwen3-coder-plus", *_QWEN, "qwen", priced=False),
    Agent("aider", "command", "gpt-5.5", *_OPENAI, "aider"),
    Agent("mini", "command", "gpt-5.5", *_OPENAI, "mini"),
)


def agents() -> tuple[Agent, ...]:
    """The agent programs on PATH."""
    return tuple(agent for agent in AGENTS if shutil.which(agent.program))


def suite(workspace: Path) -> Suite | None:
    """How the project's own tests are run, by what its files say; None where they say nothing."""
    found = _python(workspace) or _script(workspace) or _tool(workspace) or _make(workspace)
    if found is None:
        return None
    folders = [name for name in testfiles.TEST_FOLDERS if (workspace / name).is_dir()]
    beside = testfiles.areas(testfiles.uncovered(testfiles.found(workspace), folders))[:_BESIDE]
    return replace(found, protect=(*folders, *beside, *found.protect))


def secrets(workspace: Path) -> tuple[str, ...]:
    """Files and folders at the workspace's top whose names say that they hold secrets; examples of such files not."""
    try:
        names = sorted(entry.name for entry in os.scandir(workspace))
    except OSError:
        return ()
    return tuple(name for name in names if _SECRET.fullmatch(name) and not _EXAMPLE.search(name))[:_SECRETS]


def git_state(workspace: Path) -> str:
    """One line about the user's git: branch, and how much is not committed."""
    branch = _git(workspace, "symbolic-ref", "--short", "-q", "HEAD")
    if branch is None and _git(workspace, "rev-parse", "--git-dir") is None:
        around = (workspace, *workspace.resolve().parents)
        return "does not answer here" if any((folder / ".git").exists() for folder in around) else "no repository"
    changed = _git(workspace, "diff-files", "-z", "--name-only", "--ignore-submodules=all") or ""
    new = _git(workspace, "ls-files", "-z", "-o", "--exclude-standard", "--directory") or ""
    count = len([path for path in (changed + new).split("\0") if path.strip()])
    name = branch.strip() if branch else "no branch"
    return f"{name}, {f'{count} changed or new' if count else 'clean'}"


@dataclass(frozen=True, slots=True)
class Ignored:
    """What git ignores: top paths, and their files and bytes (at least, where there were too many to count)."""

    paths: tuple[str, ...]
    files: int
    size: int


def ignored(workspace: Path) -> Ignored:
    """The ignored files and trees of a git workspace; without git there are none."""
    listed = _git(workspace, "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory") or ""
    paths = tuple(path for path in listed.split("\0") if path and not path.startswith(".proctor"))
    files = size = 0
    for path in paths:
        if files >= testfiles.ENTRIES:
            break
        for entry in _walk(workspace / path, testfiles.ENTRIES - files):
            files, size = files + 1, size + entry
    return Ignored(paths, files, size)


def _walk(top: Path, room: int) -> Iterator[int]:
    """Sizes of the files under a path, up to so many."""
    if top.is_symlink():
        return
    if top.is_file():
        yield top.stat().st_size
    for folder, _, names in walk(os.fspath(top)):
        for name in names:
            if room <= 0:
                return
            room -= 1
            try:
                yield os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue


def _git(workspace: Path, *words: str) -> str | None:
    git = find_program("git")
    if git is None:
        return None
    argv = [git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C", str(workspace), *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "PATH": search_path()}
    try:
        done = subprocess.run(
            argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _present(workspace: Path, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if (workspace / name).is_file())


def _python(workspace: Path) -> Suite | None:
    if named := _pytest_named(workspace):
        return _pytest(workspace, named, _present(workspace, "pytest.ini", "conftest.py", "tox.ini"))
    tests = _python_tests(workspace)
    if not tests:
        return None
    texts = [testfiles.text(workspace / path) for path in tests[:20]]
    if any(re.search(r"^\s*(?:import|from) pytest\b", text, re.MULTILINE) for text in texts):
        return _pytest(workspace, f"{tests[0]}, and tests that import pytest")
    if not any(re.search(r"^\s*(?:import|from) unittest\b", text, re.MULTILINE) for text in texts):
        return _pytest(workspace, f"{tests[0]} is named as a test")
    inside = [path.parts[0] for path in tests if len(path.parts) > 1]
    names = sorted(set(inside), key=lambda name: (name not in testfiles.TEST_FOLDERS, -inside.count(name)))
    where: tuple[str, ...] = ()
    if names and len(inside) == len(tests):
        package = ("-t", ".") if (workspace / names[0] / "__init__.py").is_file() else ()
        where = ("discover", *package, "-s", names[0])
    others = [str(path) for path in tests if where and path.parts[0] != names[0]]
    lacks = f"the check runs no test outside {names[0]}, such as {others[0]}: add a check for these" if others else ""
    first = next(path for path in tests if str(path) not in others)
    why = f"{first}, and tests that import unittest"
    return Suite((_python_named(), "-m", "unittest", *where), why, lacks=lacks)


def _python_named() -> str:
    return "python" if shutil.which("python") or not shutil.which("python3") else "python3"


def _pytest(workspace: Path, why: str, protect: tuple[str, ...] = ()) -> Suite:
    """The suite by the first that has pytest: the project's own environment, PATH in its order."""
    for environment in (".venv", "venv"):
        if _holds_pytest(workspace / environment):
            return Suite((f"{environment}/bin/python", *_PYTEST), why, protect)
    names = dict.fromkeys((_python_named(), "python3"))
    if name := next((name for name in names if _has_pytest(workspace, shutil.which(name))), None):
        return Suite((name, *_PYTEST), why, protect)
    if shutil.which("pytest"):
        return Suite(("pytest", "-q"), why, protect)
    later = (shutil.which(name, path=entry) for entry in search_path().split(os.pathsep) for name in names)
    if python := next((one for one in later if _has_pytest(workspace, one)), None):
        return Suite((python, *_PYTEST), why, protect)
    lacks = (
        "no python on PATH has pytest, and the project has no .venv with it: `pip install pytest` into the one in use"
    )
    return Suite((_python_named(), *_PYTEST), why, protect, lacks)


def _has_pytest(workspace: Path, python: str | None) -> bool:
    """Whether an interpreter has pytest where a sandbox shows it: not in a home. One in the workspace is the project's,
    and is looked at, not run."""
    if python is None:
        return False
    if (place := Path(os.path.abspath(python))).is_relative_to(workspace.resolve()):
        return _holds_pytest(place.parent.parent)
    ask = [python, "-I", "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"]
    try:
        subprocess.run(ask, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, cwd="/", check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _holds_pytest(environment: Path) -> bool:
    return any(environment.glob("lib/python3*/site-packages/pytest/__init__.py"))


def _pytest_named(workspace: Path) -> str | None:
    if found := _present(workspace, "pytest.ini", "conftest.py"):
        return found[0]
    try:
        if "pytest" in tomllib.loads(testfiles.text(workspace / "pyproject.toml")).get("tool", {}):
            return "pyproject.toml has [tool.pytest]"
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, RecursionError):
        pass
    return next(
        (
            name
            for name in ("setup.cfg", "tox.ini")
            if re.search(r"^\[(tool:)?pytest\]", testfiles.text(workspace / name), re.M)
        ),
        None,
    )


def _python_tests(workspace: Path) -> list[Path]:
    paths = map(Path, testfiles.files(workspace, entries=2_000, deep=3))
    return [path for path in paths if re.fullmatch(r"test.*\.py|.*_test\.py", path.name)]


def _script(workspace: Path) -> Suite | None:
    try:
        script = json.loads(testfiles.text(workspace / "package.json"))["scripts"]["test"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not isinstance(script, str) or not script.strip() or "no test specified" in script:
        return None
    manager = next((tool for lock, tool in _LOCKS.items() if (workspace / lock).is_file()), "npm")
    run = (manager, "run", "test") if manager == "bun" else (manager, "test")
    return Suite(run, "package.json has a test script")


def _tool(workspace: Path) -> Suite | None:
    for name, run in (("Cargo.toml", ("cargo", "test")), ("go.mod", ("go", "test", "./..."))):
        if (workspace / name).is_file():
            return Suite(run, name)
    return None


def _make(workspace: Path) -> Suite | None:
    for name in _present(workspace, "GNUmakefile", "makefile", "Makefile"):
        for target in ("test", "check"):
            if re.search(rf"^{target}\s*:(?!=)", testfiles.text(workspace / name), re.MULTILINE):
                return Suite(("make", target), f"{name} has the target {target}", (name,))
    return None
