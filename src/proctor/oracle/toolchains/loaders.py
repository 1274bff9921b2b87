"""Files that decide what an interpreter loads before or instead of the tests' own: which part of them does. Pure.

Variables that a launcher takes from a file, the interpreter that it chooses, TypeScript's path maps, Plug'n'Play.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from proctor.oracle.toolchains.tools import is_tool

_DOTENV = re.compile(r"\.env(?:rc|\.(?!(?:example|sample|template|dist|defaults?)$)[\w.-]+)?")
_STEERS = re.compile(
    r"PATH|SHELL|BASH_ENV|LD_\w+|DYLD_\w+|PYTHON\w+|PYTEST_\w+|COVERAGE_\w+|TOX_?\w*|NOX\w*|UV_\w+|PIPENV_\w+|NODE_(?!ENV$)\w+"
    r"|npm_config_\w+|NPM_CONFIG_\w+|YARN_\w+|BUN_\w+|DENO_\w+|JEST_\w+|VITEST\w*|TS_NODE_\w+|BABEL_(?!ENV$)\w+|MAKE\w*|GNUMAKEFLAGS"
    r"|GO(?:FLAGS|ROOT|WORK|TOOLCHAIN|ENV|DEBUG)|CARGO_\w+|RUST\w+|JAVA_TOOL_OPTIONS|JDK_\w+|_JAVA_OPTIONS|M(?:AVEN|VN)_\w+"
    r"|GRADLE_\w+|PERL5\w+|RUBY(?:OPT|LIB)"
)
"""Variables that say which programs, modules and options a runner starts with."""
_VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*[=:]\s*(.*)")
_VERSION = re.compile(r"\.(?:python-versions?|node-version|nvmrc|tool-versions)")
_ELSEWHERE = re.compile(r"(?<!^lts)[/\\]|^~|\b(?:path|ref|system):")
_TSCONFIG = re.compile(r"[tj]sconfig(?:\.[\w.-]+)?\.json")
_STRING = r'("(?:\\.|[^"\\])*+"?)'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_TRAILING = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_STATE, _STATE_END = "\nconst RAW_RUNTIME_STATE =\n'", "\n}';\n"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_FETCHED = re.compile(r"\./\.yarn/(?:cache|unplugged|__virtual__)/|(?:\.\./)+(?:[\w.-]+/)*\.yarn/berry/cache/")
_LONGEST = 1000
PNP = ".pnp.cjs"
"""Read whole, it holds every package of a project."""
_PNP_SETTINGS = ("enableTopLevelFallback", "ignorePatternData")
_ZIPPED = re.compile(r"(?:^|/)\.yarn/cache/(.+)-npm-[^/]+\.zip$")
_MOCKS = "__mocks__"
_MOCK = re.compile(r"(.+?)(?:/index)?\.[cm]?[jt]sx?")


def jsonc(text: str) -> dict[str, Any]:
    """The object of a JSON text that may hold comments and trailing commas. ValueError where it is none."""
    text = _COMMENT.sub(lambda found: found[1] or " ", text.removeprefix("\ufeff"))
    data = json.loads(_TRAILING.sub(lambda found: found[1] or "", text))
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def is_variables(name: str) -> bool:
    """Whether launchers take variables from a file of this name."""
    return bool(_DOTENV.fullmatch(name))


def is_mock(path: str) -> bool:
    """Whether a file stands for a module in jest's tests."""
    return _mocked(path) is not None


def _mocked(path: str) -> re.Match[str] | None:
    """What of a path is the module's name, if it is a mock's."""
    if not path.startswith(f"{_MOCKS}/") and f"/{_MOCKS}/" not in path:
        return None
    return _MOCK.fullmatch(path.rpartition(f"{_MOCKS}/")[2])


def tool_of(path: str) -> str | None:
    """The test tool that a file stands for or holds: a mock of it, its archive in a cache of yarn's."""
    if found := _mocked(path):
        names = [found[1], found[1].partition("/")[0]]
    elif found := _ZIPPED.search(path):  # `@scope/name` is written `@scope-name`
        names = [found[1], found[1].replace("-", "/", 1)]
    else:
        return None
    return next(filter(is_tool, names), None)


# --- the parts --------------------------------------------------------------------------------------


def variables(text: str) -> dict[str, Any]:
    """The variables that say what runners start with."""
    lines = map(_VARIABLE.fullmatch, map(str.strip, text.removeprefix("\ufeff").splitlines()))
    return {match[1]: match[2] for match in lines if match and _STEERS.fullmatch(match[1])}


def version(text: str) -> dict[str, Any]:
    """What is no version but an interpreter of its own."""
    return {"from": [line for line in map(str.strip, text.splitlines()) if _ELSEWHERE.search(line)]}


def tsconfig(text: str) -> dict[str, Any]:
    """Test tools that path maps lead elsewhere, what ts-node loads, and maps from elsewhere."""
    data = jsonc(text)
    options = data.get("compilerOptions")
    paths = options.get("paths") if isinstance(options, Mapping) else None
    found = {f"paths.{name}": to for name, to in paths.items() if _is_tools(name)} if isinstance(paths, Mapping) else {}
    node = data.get("ts-node")
    keys = ("require", "compiler", "transpiler", "swc", "files", "transpileOnly")
    found |= {f"ts-node.{key}": node[key] for key in keys if key in node} if isinstance(node, Mapping) else {}
    wide = data.get("extends", [])
    bases = [one for one in (wide if isinstance(wide, list) else [wide]) if str(one).startswith(".")]
    return found | {"extends": [one for one in bases if not _TSCONFIG.fullmatch(_file(str(one)))]}


def pnp(text: str) -> dict[str, Any]:
    """The code, and the test tools that do not come from where yarn keeps what it has fetched."""
    code, found, rest = text.partition(_STATE)
    state, _, more = rest.partition(_STATE_END)
    if not found:
        return {"code": text}
    data = json.loads(_ESCAPED.sub(lambda one: one[1], state + "\n}"))
    settings = {name: value for name, value in data.items() if name in _PNP_SETTINGS}
    return {"code": [code, more], **settings} | dict(_placed(data))


def _placed(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The test tools that are taken from elsewhere than yarn's cache, or that are another package."""
    for name, versions in data["packageRegistryData"]:
        for reference, about in versions:
            place = str(about["packageLocation"])
            if name and is_tool(name) and not _is_fetched(name, place):
                yield f"{name}@{reference}", place
            for other, target in about["packageDependencies"]:
                if is_tool(other) and isinstance(target, list):  # [another name, reference]
                    yield f"{name}: {other}", str(target[0])


def _is_fetched(name: str, place: str) -> bool:
    plain = len(place) < _LONGEST and _FETCHED.match(place) and "/.." not in place.lstrip("./")
    return bool(plain) and f"/{name.replace('/', '-')}-" in place and place.endswith(f"/node_modules/{name}/")


def _is_tools(pattern: str) -> bool:
    """Whether a path map takes test tools in."""
    names = (pattern, pattern.removesuffix("/*"), pattern.replace("*", "x"))
    return pattern == "*" or any(map(is_tool, names))


def _file(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if name.endswith(".json") else f"{name}.json"


_READERS = ((_DOTENV, variables), (_VERSION, version), (_TSCONFIG, tsconfig), (re.compile(re.escape(PNP)), pnp))


def reader_of(name: str) -> Callable[[str], dict[str, Any]] | None:
    """The reader of a file's part, by its name; None for other files."""
    return next((reader for pattern, reader in _READERS if pattern.fullmatch(name)), None)
