"""Files that tools run without being asked: when a folder is entered, opened in an editor, or committed.

A worker may write them, as it may write any file; what they say is then run outside, as the operator. So they are
named, and nothing of proctor opens them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# fmt: off
_FOLDERS = (
    ".claude", ".codex", ".cursor", ".devcontainer", ".gemini", ".githooks", ".husky", ".idea", ".opencode",
    ".qwen", ".vscode", ".yarn", ".zed",
)
_FILES = (
    ".aider.conf.yml", ".bash_profile", ".bashrc", ".bazelrc", ".dir-locals.el", ".envrc", ".exrc", ".gdbinit",
    ".gitconfig", ".gitmodules", ".lldbinit", ".lvimrc", ".mcp.json", ".mise.toml", ".nvim.lua", ".npmrc",
    ".pnpmfile.cjs", ".pre-commit-config.yaml", ".profile", ".tmux.conf", ".vimrc", ".yarnrc.yml", ".zprofile",
    ".zshenv", ".zshrc", "lefthook.yml", "lefthook.yaml", "mise.toml", "opencode.json", "opencode.jsonc",
)
# fmt: on
_ENDINGS = (".code-workspace", ".sublime-project")
_CARGO = re.compile(r"(^|/)\.cargo/config(\.toml)?$")


def autorun(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths, relative to the workspace, that some tool runs by itself; sorted."""
    return tuple(sorted({path for path in paths if _runs(path)}))


def _runs(path: str) -> bool:
    *above, name = path.split("/")
    known = name in _FILES or name.endswith(_ENDINGS)
    return known or not set(_FOLDERS).isdisjoint(above) or bool(_CARGO.search(path))
