"""Lock files: whether one still names the test tools that it named. Pure.

A worker that adds a dependency rewrites the lock, and that is honest work. What must not change under the checks is
which test runner the lock stands for: its version, where it comes from, its hashes. A new version is honest only where
the manifest asks for one, and then from where packages came before.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from proctor.oracle.toolchains.tools import is_elsewhere, is_tool, toml, wanted

LIMIT = 8 << 20
"""Bytes of a lock file that are parsed."""

_REGISTRIES = ("registry", "sparse+", "https://", "http://")


class Pin(NamedTuple):
    """One locked package: its version with its hashes, and the registry or other place that it comes from, if said."""

    version: str
    origin: str


Pins = dict[str, set[Pin]]

MANIFESTS: Mapping[str, str] = {
    "uv.lock": "pyproject.toml",
    "poetry.lock": "pyproject.toml",
    "pdm.lock": "pyproject.toml",
    "pylock.toml": "pyproject.toml",
    "Pipfile.lock": "Pipfile",
    "package-lock.json": "package.json",
    "npm-shrinkwrap.json": "package.json",
    "yarn.lock": "package.json",
    "pnpm-lock.yaml": "package.json",
    "bun.lock": "package.json",
    "Cargo.lock": "Cargo.toml",
    "go.sum": "go.mod",
    "go.work.sum": "go.work",
    "modules.txt": "go.mod",
}
"""The lock files that are read, each with the manifest that it follows."""


def is_lock(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in MANIFESTS and (name != "modules.txt" or path.endswith("vendor/modules.txt"))


def is_swapped(path: str, before: bytes, after: bytes, asked: Callable[[], bool]) -> bool:
    """Whether a lock stands for other test tools than before. `asked`: the manifest asks for other ones.

    What cannot be read counts as swapped.
    """
    try:
        old, new = _pins(path, before), _pins(path, after)
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError):
        return True
    origins = {pin.origin for pins in old.values() for pin in pins}
    tools = [name for name in new if is_tool(name.partition(" ")[0])]
    for name in tools:
        fresh = {pin.origin for pin in new[name] - old.get(name, set())} - origins
        if any(name in old or not origin.startswith(_REGISTRIES) for origin in fresh if origin):
            return True
    return any(name in old and not old[name] <= new[name] for name in tools) and not asked()


def is_odd(path: str, data: bytes) -> bool:
    """Whether a lock that was not there before takes a test tool from elsewhere than a registry."""
    return is_swapped(path, b"{}" if path.endswith(("json", "Pipfile.lock")) else b"", data, lambda: False)


def asks(path: str, manifest: bytes) -> set[tuple[str, str]]:
    """What the manifest of a lock file asks for of test tools; nothing if it cannot be read."""
    try:
        text = manifest.decode()
        if MANIFESTS[path.rpartition("/")[2]] in ("go.mod", "go.work"):
            return {(name, rest) for line in text.splitlines() for name, rest in [_go(line)] if is_tool(name)}
        return set(wanted(json.loads(text) if text.lstrip().startswith("{") else toml(text)))
    except (ValueError, RecursionError):
        return set()


def _pins(path: str, data: bytes) -> Pins:
    pins: Pins = defaultdict(set)
    for name, version, origin in _READERS[path.rpartition("/")[2]](data.decode()):
        pins[name].add(Pin(version, origin))
    return pins


Entries = Iterator[tuple[str, str, str]]


def _toml(text: str) -> Entries:
    """uv, poetry, pdm, pylock and cargo: an array of packages."""
    data = toml(text)
    packages = data.get("package", data.get("packages", []))
    for one in packages:
        files = [*one.get("files", []), *one.get("wheels", []), one.get("sdist") or {}]
        hashes = sorted({str(file.get("hash") or file.get("hashes")) for file in files} - {"None"})
        source = one.get("source", "")
        if isinstance(source, dict):
            registry = source.get("registry") or (source.get("url") if source.get("type") == "legacy" else None)
            source = f"registry {registry}" if registry else json.dumps(source, sort_keys=True)
        place = [f"{key}:{one[key]}" for key in ("path", "git", "url", "directory", "vcs", "archive") if key in one]
        yield one["name"], f"{one.get('version')} {hashes} {one.get('checksum', '')}", "".join([str(source), *place])


def _package_lock(text: str) -> Entries:
    data = json.loads(text)
    queue = [data.get("dependencies", {})] if "packages" not in data else []
    for place, one in data.get("packages", {}).items():
        name = place.rpartition("node_modules/")[2] if "node_modules/" in place else ""
        if name:
            yield name, f"{one.get('version')} {one.get('integrity')}", _place(one)
    while queue:
        for name, one in queue.pop().items():
            yield name, f"{one.get('version')} {one.get('integrity')}", _place(one)
            queue.append(one.get("dependencies", {}))


def _place(one: Mapping[str, Any]) -> str:
    """The registry of an npm package, or all that is said of its place where it is none or not its own package."""
    resolved = str(one.get("resolved") or "")
    marks = [f"{key} {one[key]}" for key in ("link", "name") if one.get(key)]
    return " ".join([*marks, _host(resolved)])


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else url


_FIELD = re.compile(r'  (version|resolved|resolution|integrity|checksum):? +"?(.*?)"?')


def _yarn(text: str) -> Entries:
    """Both forms of a yarn.lock: blocks with a line of names, then fields."""
    for block in re.split(r"\n(?:[ \t]*\n)+", text):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if len(lines) < 2 or not lines[0].endswith(":"):
            continue
        fields = {found[1]: found[2] for line in lines[1:] if (found := _FIELD.fullmatch(line))}
        name = lines[0].partition(",")[0].strip(' ":')
        name = name[: name.index("@", 1)] if "@" in name[1:] else name
        origin = _host(fields.get("resolved", ""))
        if resolution := fields.get("resolution"):  # "jest@npm:29.7.0", or "jest@file:./fake"
            real, _, rest = resolution[1:].partition("@")
            origin = rest.partition(":")[0] + ("" if resolution[0] + real == name else f" {resolution}")
            origin = "registry" if origin == "npm" else f"{origin}:{rest}"
        yield name, " ".join(fields.get(key, "") for key in ("version", "integrity", "checksum", "resolved")), origin


_PNPM_PLACES = ("tarball:", "directory:", "repo:", "path:")
_LINKED = re.compile(
    r"""^ +['"]?(@?[^'"\s:]+)['"]?:\n +specifier: .*\n +version: ((?:link|file|https?|git)\S+)""", re.MULTILINE
)


def _pnpm(text: str) -> Entries:
    lines = text.splitlines()
    for at, line in enumerate(lines[1:]):
        if not line.startswith("    resolution: {"):
            continue
        key = lines[at].strip().rstrip(":").strip("'\"").removeprefix("/").partition("(")[0]
        name, _, version = key.rpartition("@" if "@" in key[1:] else "/")
        elsewhere = [one.strip() for one in line.replace("{", ",").split(",") if one.strip().startswith(_PNPM_PLACES)]
        yield name, f"{version} {line.strip()}", _host(elsewhere[0].partition(": ")[2]) if elsewhere else ""
    for name, version in _LINKED.findall(text):
        yield name, version, version


def _bun(text: str) -> Entries:
    for name, rest in re.findall(r'^ +"([^"]+)": \["(.*)\],?$', text, re.MULTILINE):
        real, _, version = rest.partition('"')[0].rpartition("@")
        scope, at, rest_of = name.rpartition("@")
        called = f"@{rest_of}" if at and scope[-1:] in ("", "/") else name.rpartition("/")[2]
        yield called, rest, "" if real == called and not is_elsewhere(version) else f"{real}@{version}"


def _pipfile(text: str) -> Entries:
    for section in json.loads(text).values():
        for name, one in section.items():
            if isinstance(one, dict) and (one.keys() & {"version", "hashes", "path", "git", "file"}):
                place = {key: one[key] for key in ("path", "git", "file", "ref", "editable") if key in one}
                yield name, f"{one.get('version')} {sorted(one.get('hashes', []))}", json.dumps(place) if place else ""


def _go_sum(text: str) -> Entries:
    """A sum is of one version, and old ones come and go: only another hash of the same is a swap."""
    for line in text.splitlines():
        module, version, digest = (*line.split(), "", "", "")[:3]
        if digest:
            yield f"{module} {version}", digest, ""


def _modules(text: str) -> Entries:
    for line in text.splitlines():
        if line.startswith("# "):
            name, rest = _go(line[2:])
            version, _, replaced = rest.partition("=>")
            yield name, version.strip(), replaced.strip()


def _go(line: str) -> tuple[str, str]:
    """A line of a go.mod that asks for a module, or replaces one."""
    words = line.partition("//")[0].split()
    words = words[1:] if words[:1] in (["require"], ["replace"]) else words
    return (words[0], " ".join(words[1:])) if words else ("", "")


_READERS: Mapping[str, Callable[[str], Entries]] = {
    **dict.fromkeys(("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Cargo.lock"), _toml),
    **dict.fromkeys(("package-lock.json", "npm-shrinkwrap.json"), _package_lock),
    **dict.fromkeys(("go.sum", "go.work.sum"), _go_sum),
    "Pipfile.lock": _pipfile,
    "yarn.lock": _yarn,
    "pnpm-lock.yaml": _pnpm,
    "bun.lock": _bun,
    "modules.txt": _modules,
}
