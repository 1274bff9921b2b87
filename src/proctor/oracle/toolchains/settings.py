"""Files that hold both what test runners are told and what a worker may rightly change: which part is which. Pure.

A part is a mapping. A value that is a frozenset may grow: a new script, a new member of a workspace is honest work.
Any other value has to stay what it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

from proctor.oracle.toolchains import loaders, manifests
from proctor.oracle.toolchains.tools import JVM, is_tool, redirected, toml, written, xml

Part = dict[str, Any]

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError, SyntaxError)
"""What comes of a file that is not what its name says."""

_TOML_TOOLS = re.compile(r"pytest|coverage|test|tox|nox|nose|^poe$|^taskipy$")
_TOML_PARTS: Mapping[str, frozenset[str]] = {
    "hatch": frozenset({"envs", "env", "scripts"}),
    "pdm": frozenset({"scripts"}),
}
_INI_SECTIONS = re.compile(r"pytest|coverage|test|tox|nox|nose|aliases")
_PLUGINS = re.compile(
    r"pytest11|tox|nox|coverage|nose|unittest|hypothesis|flake8|pylint|bandit|behave|setuptools|distutils|stevedore|sphinx|mkdocs"
)
_PACKAGE_KEYS = re.compile(
    r"(?:jest|vitest|mocha|ava|tap|nyc|c8|babel|karma|cypress|playwright|jasmine|wireit|nx)(?:-.*)?|packageManager"
)
_TEST_SCRIPTS = re.compile(r"(?:.*[^a-z])?tests?(?:[^a-z].*)?|(?:pre|post)?(?:install|prepare)")
_HOOK = re.compile(r"(?:pre|post)(.+)")
_NODE_TABLES = (
    *("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"),
    *("overrides", "resolutions"),
)
_NPMRC = frozenset(
    """script-shell shell node-options ignore-scripts if-present userconfig globalconfig prefix workspace workspaces
    include-workspace-root call package shell-emulator use-node-version pnpmfile global-pnpmfile modules-dir
    enable-pre-post-scripts""".split()  # noqa: SIM905 - a list to read
)
_PNPM = frozenset(
    """nodeOptions scriptShell shellEmulator pnpmfile globalPnpmfile modulesDir nodeVersion useNodeVersion
    enablePrePostScripts configDependencies patchedDependencies overrides""".split()  # noqa: SIM905 - a list to read
)
_CARGO_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
_CARGO_SWITCHES = ("test", "doctest", "bench", "harness")
_CARGO_PROFILE = ("debug-assertions", "overflow-checks", "panic", "inherits", "package")
_GO_KEPT = ("toolchain", "godebug")


def part(path: str, data: bytes) -> Part | None:
    """The part of a file that tells test runners what to do, {} if none, None if it cannot be read."""
    reader = reader_of(path)
    if reader is None:
        return None
    try:
        return {name: value for name, value in reader(data.decode()).items() if value not in ({}, [], frozenset())}
    except _UNREADABLE:
        return None


def is_same(path: str, before: bytes, after: bytes) -> bool:
    """Whether test runners are told the same as before; what cannot be read says something else."""
    old, new = part(path, before), part(path, after)
    if old is None or new is None:
        return False
    try:
        return all(_holds(old.get(name), new.get(name)) for name in old.keys() | new.keys())
    except RecursionError:
        return False


def tells(path: str, data: bytes) -> bool:
    """Whether a file that was not there tells test runners anything."""
    name, new = path.rpartition("/")[2], part(path, data)
    if manifests.reader_of(name) is None:
        return new != {}
    held = manifests.anew(name, new or {}) if manifests.is_overriding(name) else {}
    return not all(_holds(None, one) or one == [] for one in held.values())


def _holds(old: object, new: object) -> bool:
    if isinstance(old, frozenset) or isinstance(new, frozenset):
        was: Iterable[object] = old if isinstance(old, frozenset) else ()
        return isinstance(new, frozenset | None) and frozenset(was) <= (new or frozenset())
    return bool(old == new)


# --- Python -----------------------------------------------------------------------------------------


def _pyproject(text: str) -> Part:
    data = toml(text)
    tools, project = _table(data, "tool"), _table(data, "project")
    found: Part = {name: table for name, table in tools.items() if _TOML_TOOLS.search(name)}
    for name, keys in _TOML_PARTS.items():
        table = tools.get(name)
        found |= {f"{name}.{key}": table[key] for key in keys if isinstance(table, dict) and key in table}
    found |= {f"plugin {name}": one for name, one in _table(project, "entry-points").items() if _PLUGINS.search(name)}
    poetry, uv = _table(tools, "poetry"), _table(tools, "uv")
    found |= {f"plugin {name}": one for name, one in _table(poetry, "plugins").items() if _PLUGINS.search(name)}
    groups = [group.get("dependencies") for group in _table(poetry, "group").values() if isinstance(group, dict)]
    extras = [*_table(project, "optional-dependencies").values(), *_table(data, "dependency-groups").values()]
    lists = [project.get("dependencies"), *extras, uv.get("dev-dependencies"), uv.get("override-dependencies")]
    for one in (_table(uv, "sources"), *lists, poetry.get("dependencies"), poetry.get("dev-dependencies"), *groups):
        found |= redirected({"from": one})
    return found


def _pipfile(text: str) -> Part:
    data = toml(text)
    return {**{name: data[name] for name in ("scripts",) if name in data}, **redirected(data)}


def _requirements(text: str) -> Part:
    lines = [line.partition(" #")[0].strip() for line in text.splitlines()]
    return redirected({"from": [line for line in lines if "@" in line]})


def _ini(text: str) -> Part:
    import configparser  # which not every project needs

    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="\0")
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    found: Part = {name: dict(parser[name]) for name in parser.sections() if _INI_SECTIONS.search(name)}
    if parser.has_section("options.entry_points"):
        points = parser["options.entry_points"]
        found |= {f"plugin {name}": one for name, one in points.items() if _PLUGINS.search(name)}
    return found


def _records(text: str) -> Part:
    """The plugins that the entry points of an installed package name, read as `importlib.metadata` does."""
    found: Part = {}
    group = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            group = line.strip("[]")
        elif _PLUGINS.search(group):
            found.setdefault(f"plugin {group}", []).append(line)
    return found


# --- node -------------------------------------------------------------------------------------------


def _package(text: str) -> Part:
    data = _object(text)
    found: Part = {name: value for name, value in data.items() if _PACKAGE_KEYS.fullmatch(name)}
    scripts = data.get("scripts")
    if isinstance(scripts, dict):
        hooks = {name for name in scripts if (of := _HOOK.fullmatch(name)) and of[1] in scripts}
        tests = {name: one for name, one in scripts.items() if name in hooks or _TEST_SCRIPTS.fullmatch(name)}
        others = frozenset((name, str(script)) for name, script in scripts.items() if name not in tests)
        found |= {"scripts": tests, "other scripts": others}
    elif scripts is not None:
        found["scripts"] = scripts
    pnpm = _table(data, "pnpm")
    tables = {name: data.get(name) for name in _NODE_TABLES}
    tables |= {f"pnpm.{name}": pnpm.get(name) for name in ("overrides", "patchedDependencies")}
    found |= redirected(tables)
    members = data.get("workspaces")
    members = members.get("packages") if isinstance(members, dict) else members
    found["workspaces"] = frozenset(map(str, members)) if isinstance(members, list) else frozenset()
    return found


def _npmrc(text: str) -> Part:
    lines = (line.partition("=") for line in text.splitlines() if line.strip()[:1] not in ("#", ";"))
    pairs = ((name.strip(" \t\"'").removesuffix("[]"), value.strip()) for name, _, value in lines)
    return {name: value for name, value in pairs if name in _NPMRC}


def _pnpm(text: str) -> Part:
    """By its lines: the blocks of some names at its top."""
    blocks = re.split(r"^(?=[^\s#-])", text, flags=re.MULTILINE)
    found = {name.strip(" \"'"): value.strip() for block in blocks for name, _, value in [block.partition(":")]}
    return {name: value for name, value in found.items() if name in _PNPM}


def _deno(text: str) -> Part:
    data = loaders.jsonc(text)
    found = {name: data[name] for name in ("tasks", "test", "bench", "importMap") if name in data}
    return found | redirected({"imports": data.get("imports"), **_table(data, "scopes")})


def _bunfig(text: str) -> Part:
    data = toml(text)
    return {name: data[name] for name in ("test", "run", "preload") if name in data}


# --- Rust and Go ------------------------------------------------------------------------------------


def _cargo(text: str) -> Part:
    data = toml(text)
    package, workspace = _table(data, "package"), _table(data, "workspace")
    found: Part = {name: data[name] for name in ("test", "bench") if name in data}
    for name, profile in _table(data, "profile").items():
        found[f"profile {name}"] = {key: profile[key] for key in _CARGO_PROFILE if key in profile}
    found |= {f"package.{name}": one for name, one in package.items() if name == "build" or name.startswith("auto")}
    for name in ("lib", "bin", "example"):
        for target in _listed(data.get(name)):
            switches = {key: target[key] for key in _CARGO_SWITCHES if key in target}
            if switches:
                found[f"{name} {target.get('name', '')}"] = switches
    found |= redirected({f"workspace.{name}": workspace.get(name) for name in _CARGO_TABLES})
    for of, tables in [("", data), *_table(data, "target").items()]:
        found |= redirected({of + name: tables.get(name) for name in _CARGO_TABLES})
    found |= redirected({f"patch.{name}": one for name, one in _table(data, "patch").items()})
    replaced = _table(data, "replace").items()
    found |= {f"replace.{name}": one for name, one in replaced if is_tool(name.partition(":")[0])}
    found |= {f"workspace.{name}": workspace[name] for name in ("exclude", "default-members") if name in workspace}
    members = workspace.get("members")
    found["members"] = frozenset(map(str, members)) if isinstance(members, list) else frozenset()
    return found


def _go(text: str) -> Part:
    """The statements of a go.mod or go.work; blocks in brackets are many of the same."""
    found: Part = {}
    uses: set[str] = set()
    block = ""
    for raw in text.splitlines():
        words = raw.partition("//")[0].split()
        if words and words[-1] == "(":
            block = words[0]
            continue
        if words[:1] == [")"]:
            block = ""
            continue
        words = [block, *words] if block and words else words
        if len(words) < 2:
            continue
        if words[0] in _GO_KEPT or (words[0] == "replace" and is_tool(words[1])):
            found[f"{words[0]} {words[1]}"] = " ".join(words[2:])
        elif words[0] == "use":
            uses.add(words[1])
    return {**found, "use": frozenset(uses)}


# --- Java -------------------------------------------------------------------------------------------

_BLOCK_NAMES = re.compile(
    r"\s*(?:dependencies|repositories|plugins|pluginManagement|dependencyManagement|publishing)\s*\{"
)
_HONEST_LINES = re.compile(r"\s*(?:version|group|description|rootProject\.name)\b")
_INCLUDES = re.compile(r"\s*include\b")
_SWITCHES = re.compile(r"systemProp|test|skip|check|jvmargs|init", re.IGNORECASE)
_GRADLE = re.compile(
    r"test|check|sourceSets|ignoreFailures|exclude|filter|onlyIf|enabled|finalizedBy|doFirst|doLast|gradle\.|apply"
    r"|allprojects|subprojects|afterEvaluate|exec|jacoco|System\.|whenReady",
    re.IGNORECASE,
)
_PLACES = re.compile(r"\b(?:files|fileTree|project)\s*\(")


def _gradle(text: str) -> Part:
    """Statements of a build script that have to do with tests: those at its top level, with all that they hold."""
    kept, statement, depth = [], "", 0
    for line in _without_comments(text).splitlines():
        statement += line.strip() + "\n"
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
        if depth > 0:
            continue
        if _BLOCK_NAMES.match(statement):
            lines = statement.splitlines()
            kept += [one for one in lines if JVM.search(one) and _PLACES.search(one)]
        elif not _HONEST_LINES.match(statement) and _GRADLE.search(statement):
            kept.append(statement)
        statement, depth = "", 0
    return {"statements": [*kept, *([statement] if statement.strip() else [])]}


def _gradle_settings(text: str) -> Part:
    lines = [line.strip() for line in _without_comments(text).splitlines() if line.strip()]
    named = [line for line in lines if _INCLUDES.match(line)]
    projects = frozenset(name for line in named for name in re.findall(r"""["']([^"']+)["']""", line))
    others = [line for line in lines if line not in named and not _HONEST_LINES.match(line)]
    return {"projects": projects, "others": others}


def _properties(text: str) -> Part:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip()[:1] not in ("#", "!"))
    return {name.strip(): value.strip() for name, _, value in pairs if _SWITCHES.search(name)}


def _pom(text: str) -> Part:
    top = xml(text)

    def kept(name: str, wanted: Callable[[Element], object]) -> list[str]:
        return [written(one) for one in top.iter(name) if wanted(one)]

    return {
        "plugins": kept("plugin", lambda one: JVM.search(one.findtext("artifactId") or "")),
        "runs": kept("plugin", lambda one: one.findtext("artifactId") in _ANT),
        "switches": {one.tag: one.text for of in top.iter("properties") for one in of if _SWITCHES.search(one.tag)},
        **{name: kept(name, lambda _: True) for name in ("testSourceDirectory", "testResources", "profiles")},
        "extensions": kept("extensions", lambda _: True),
        "local": kept("dependency", lambda one: one.find("systemPath") is not None),
        "modules": frozenset(one.text or "" for one in top.iter("module")),
    }


_ANT = frozenset({"maven-antrun-plugin", "exec-maven-plugin", "gmavenplus-plugin", "groovy-maven-plugin"})


def _without_comments(text: str) -> str:
    """A script without its comments, as far as that can be told without reading its strings."""
    parts = text.split("/*")
    text = parts[0] + "".join(part.partition("*/")[2] for part in parts[1:])
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))


# --- all --------------------------------------------------------------------------------------------


def _object(text: str) -> dict[str, Any]:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a file; {} where there is none. ValueError where it is something else."""
    table = data.get(name, {})
    if not isinstance(table, Mapping):
        raise ValueError(f"{name} is not a table")
    return table


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Mapping)]


_READERS: Mapping[str, Callable[[str], Part]] = {
    "pyproject.toml": _pyproject,
    **dict.fromkeys(("setup.cfg", "tox.ini"), _ini),
    "Pipfile": _pipfile,
    "package.json": _package,
    ".npmrc": _npmrc,
    "pnpm-workspace.yaml": _pnpm,
    **dict.fromkeys(("deno.json", "deno.jsonc"), _deno),
    "bunfig.toml": _bunfig,
    "Cargo.toml": _cargo,
    **dict.fromkeys(("go.mod", "go.work"), _go),
    **dict.fromkeys(("build.gradle", "build.gradle.kts"), _gradle),
    **dict.fromkeys(("settings.gradle", "settings.gradle.kts"), _gradle_settings),
    "gradle.properties": _properties,
    "pom.xml": _pom,
}
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)|constraints\.txt")


def reader_of(path: str) -> Callable[[str], Part] | None:
    folder, _, name = path.rpartition("/")
    reader = _READERS.get(name)
    if is_record(name) or (name == "entry_points.txt" and is_record(folder)):
        return _records
    if reader is None and name.endswith((".txt", ".in")) and _REQUIREMENTS.fullmatch(name):
        return _requirements
    return reader or loaders.reader_of(name) or manifests.reader_of(name)


def is_record(path: str) -> bool:
    """Whether a folder, or a link to one, is taken for the record of an installed package wherever imports start."""
    return path.lower().endswith((".dist-info", ".egg-info"))
