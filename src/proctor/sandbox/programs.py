"""What programs outside the system's folders are installed with: as much as they need to run, and no secret.

A folder is shown only if no private place of a home lies in it, and none around it. Where a program's own folder
may not be shown, the program itself is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

# fmt: off
TOOLS = (
    ".asdf", ".bun/bin", ".bun/install/global", ".cabal/bin", ".cache/node/corepack", ".cargo/bin", ".cargo/git",
    ".cargo/registry", ".claude/local",
    ".composer/vendor", ".config/composer/vendor", ".config/yarn/global/node_modules", ".deno/bin", ".dotnet/dotnet",
    ".dotnet/host", ".dotnet/sdk", ".dotnet/shared", ".dotnet/tools", ".elan", ".fnm", ".ghcup/bin", ".ghcup/ghc",
    ".guix-profile", ".jenv", ".juliaup", ".local/bin", ".local/lib", ".local/pipx", ".local/share/claude/versions",
    ".local/share/fnm", ".local/share/mise", ".local/share/pipx", ".local/share/pnpm", ".local/share/uv/python",
    ".local/share/uv/tools", ".nix-profile", ".nodenv", ".npm-global", ".nvm", ".opencode/bin", ".pixi/bin",
    ".pixi/envs", ".proto/bin", ".proto/shims", ".proto/tools", ".pyenv", ".rbenv", ".rustup", ".rvm",
    ".sdkman/candidates", ".stack/programs", ".tool-versions", ".volta", ".yarn/bin", "go/bin", "go/pkg/mod",
)
"""Of HOME: what holds programs or fetched sources, and no secrets. Not ~/.local/share/uv and ~/.cargo: they keep
credentials."""

NAMED = {
    "CARGO_HOME": ("bin", "git", "registry"), "GOMODCACHE": ("",), "GOPATH": ("bin", "pkg/mod"), "GOROOT": ("",),
    "RUSTUP_HOME": ("",),
}
"""Variables that say where else such a folder is, and what of it is shown."""

BREW = ("/home/linuxbrew/.linuxbrew", ".linuxbrew")
BREWED = (
    "Caskroom", "Cellar", "Homebrew", "bin", "etc/ca-certificates", "etc/openssl@3", "include", "lib", "libexec",
    "opt", "sbin", "share",
)
"""Homebrew's folders but for the data and sockets of its services."""

PRIVATE = (
    ".aws", ".azure", ".bundle", ".cache", ".cargo/credentials", ".cargo/credentials.toml", ".claude", ".claude.json",
    ".codex", ".composer/auth.json", ".config", ".docker", ".dotnet/corefx", ".gem/credentials", ".gemini",
    ".git-credentials", ".gnupg", ".gradle", ".kube", ".local/share/keyrings", ".local/share/opencode",
    ".local/share/uv/credentials", ".local/state", ".m2", ".mozilla", ".netrc", ".npmrc",
    ".nuget", ".password-store", ".pulumi", ".pypirc", ".qwen", ".ssh", ".terraform.d", ".thunderbird",
    ".vault-token", "snap",
)
"""Of every home: where secrets are kept."""

MARKS = ("pyvenv.cfg", "conda-meta")
INSTALLED = (*MARKS, "include", "lib/node_modules", "libexec", "pkg/tool", "release", "share/doc", "share/man")
"""What shows beside `bin` that a folder is one installation."""
LIVED_IN = (".git", ".env", "var")
"""What shows that it is a project, or holds a service's data too."""
# fmt: on

DEEPEST = 8
MOST_LINKS = 40

Link = tuple[str, Path]
"""A symbolic link: what it says, and where it stands (a real path)."""


def trail(path: Path) -> tuple[tuple[Link, ...], Path]:
    """Every link on the way along an absolute path, and where it ends; that need not exist."""
    links: list[Link] = []
    here, ahead = Path("/"), list(reversed(path.parts[1:]))
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = here.parent
            continue
        step = here / part
        try:
            text = os.readlink(step)
        except OSError:
            here = step
            continue
        links.append((text, step))
        if len(links) > MOST_LINKS:
            return (), path
        parts = Path(text).parts
        if text.startswith("/"):
            here, parts = Path("/"), parts[1:]
        ahead += reversed(parts)
    return tuple(links), here


def within(path: Path, folders: Iterable[Path | str]) -> bool:
    """Whether a path is, or lies in, one of the folders."""
    return f"{path}/".startswith(tuple(f"{folder}/" for folder in folders))


def may_show(path: Path, homes: Iterable[Path]) -> bool:
    """Whether nothing private lies in a folder, or around it."""
    for home in homes:
        if home.is_relative_to(path):
            return False
        if within(path, (f"{home}/{name}" for name in TOOLS)):
            continue
        private = [f"{home}/{name}" for name in PRIVATE]
        if within(path, private) or any(place.startswith(f"{path}/") for place in private):
            return False
    return True


def usual(home: Path) -> Iterator[Path]:
    """Where an operator's tools are usually installed, there or not."""
    yield from (home / name for name in TOOLS)
    yield from (home / prefix / name for prefix in BREW for name in BREWED)


def named(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where the operator's variables say that tools are, there or not."""
    for variable, names in NAMED.items():
        if (place := environment.get(variable, "")).startswith("/"):
            yield from (Path(place, name) for name in names)


def around(folder: Path) -> Path:
    """What a folder of programs is installed with: itself, or the folder above it."""
    above = folder.parent
    if folder.name not in {"bin", "sbin", "libexec", "condabin", "Scripts"}:
        return folder
    installed = _holds(above, MARKS) or (_holds(above, INSTALLED) and not _holds(above, LIVED_IN))
    return above if installed else folder


def _holds(folder: Path, names: Iterable[str]) -> bool:
    """Whether one of these is in the folder; what this user may not look into holds none."""
    return any(os.path.exists(folder / name) for name in names)


def passes(path: Path, workspace: Path | None) -> bool:
    """Whether the way along a path leads through the workspace, where a worker can turn it."""
    if workspace is None:
        return False
    links, real = trail(path)
    return any(within(place, [workspace]) for place in (path, real, *(place for _, place in links)))


def needed(programs: Iterable[str], path: str, homes: tuple[Path, ...], workspace: Path | None) -> Iterator[Path]:
    """What each of these programs needs: its own path, the programs that interpret it, and their installations.

    Nothing that is shown holds a home or the workspace. What lies in the workspace names nothing: a worker wrote it.
    """
    walls = (*homes, workspace) if workspace else homes
    queue = [(name, DEEPEST) for name in programs]
    seen: set[str] = set()
    while queue:
        name, depth = queue.pop()
        found = shutil.which(name, path=path)
        if name in seen or not depth or found is None or not found.startswith("/"):
            continue  # a relative path is the workspace's
        seen.add(name)
        if passes(Path(found), workspace):
            continue
        links, real = trail(Path(found))
        yield Path(found)
        yield from (root for _, place in links if (root := _marked(place)) and may_show(root, walls))
        yield from _installation(real, walls)
        queue += [(program, depth - 1) for program in _interpreters(real)]


def _installation(file: Path, homes: tuple[Path, ...]) -> Iterator[Path]:
    modules = next((folder for folder in reversed(file.parents) if folder.name == "node_modules"), None)
    wanted = [modules or _marked(file) or around(file.parent)]
    if modules and modules.parent.name == "lib":
        wanted.append(modules.parent.parent / "bin")
    shown = [folder for folder in wanted if may_show(folder, homes)]
    yield from shown
    if not within(file, shown):
        yield file.parent if may_show(file.parent, homes) else file


def _marked(file: Path) -> Path | None:
    """The environment that a file belongs to."""
    return next((folder for folder in file.parents if _holds(folder, MARKS)), None)


def _interpreters(file: Path) -> Iterator[str]:
    """The programs that a script's first line names."""
    try:
        with file.open("rb") as content:
            line = content.readline(512)
    except OSError:
        return
    if line[:2] != b"#!":
        return
    words = os.fsdecode(line[2:]).split()
    yield from words[:1]
    if words and os.path.basename(words[0]) == "env":
        yield from [word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]
