"""What stands on the host before a probe runs: a home with secrets, a project in it, and what lies around it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Config = dict[str, Any]
"""What a probe is told: paths, ports and names of the host, the secret that must not be found."""

CREDENTIALS = (
    ".netrc",
    ".config/gh/hosts.yml",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".kube/config",
    ".gnupg/private.key",
    ".bash_history",
    ".local/share/keyrings/login.keyring",
)
CLEAN = "clean\n"
CHECK = "assert True\n"
TOOL = "#!/bin/sh\necho tool\n"

GIT_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "operator",
    "GIT_AUTHOR_EMAIL": "operator@localhost",
    "GIT_COMMITTER_NAME": "operator",
    "GIT_COMMITTER_EMAIL": "operator@localhost",
}

CONTRACT = """\
goal: isolation probe
worker: {kind: command, command: [/bin/true]}
state: {protect: [oracle, deep/a/oracle], hide: [answers]}
sandbox: {kind: bwrap, limits: {memory: 384M, processes: 128, file_size: 64M, open_files: 4096, scratch: 64M}}
budget: {wall_clock: {limit: 5m, on_exhaustion: stop}}
progress: {checks: [{run: [/bin/true]}]}
"""
EXCLUDED = "/.probe/\n/sub/\n/vendor/\n/link_out\n*.sock\n/proctor.yaml\n/answers/\n/.proctor/\n"


def put(path: str, text: str, mode: int = 0o644) -> None:
    """Writes a file with the folders above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text)
    os.chmod(path, mode)


def git(folder: str, *words: str, check: bool = True) -> str:
    """The operator's plain git, with everything it would do by itself."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=GIT_ENVIRONMENT,
        check=check,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=60,
    )
    return done.stdout


def build(root: str, secret: str, layout: str) -> Config:
    """Everything below `root`; what of it a probe has to know."""
    home, outside = f"{root}/home", f"{root}/outside"
    state, workspace = f"{home}/.local/state/sup", f"{home}/work/ws"
    put(f"{home}/.ssh/id_ed25519", f"KEY {secret}\n", 0o600)
    put(f"{home}/.aws/credentials", f"aws_secret_access_key={secret}\n", 0o600)
    for name in CREDENTIALS:
        put(f"{home}/{name}", f"token {secret}\n", 0o600)
    for name in (".bashrc", ".profile"):
        put(f"{home}/{name}", "# rc\n")
    put(f"{home}/projects/other/.env", f"K={secret}\n")
    put(f"{home}/.local/bin/tool", TOOL, 0o755)
    put(f"{outside}/target.txt", CLEAN)
    put(f"{outside}/hardlinked.txt", CLEAN)
    put(f"{outside}/secret.txt", secret)
    put(f"{state}/ledger.jsonl", f'{{"k":"{secret}"}}\n', 0o600)
    os.makedirs(workspace)
    common, own = _repository(root, state, workspace, layout)
    put(f"{common}/modules/m/config", "[core]\n")
    put(f"{common}/info/exclude", EXCLUDED)
    os.makedirs(f"{common}/hooks", exist_ok=True)
    nested = f"{workspace}/sub"
    os.makedirs(nested)
    git(nested, "init", "-q")
    put(f"{nested}/a", "a")
    git(nested, "add", "a")
    git(nested, "commit", "-qm", "s")
    os.makedirs(f"{workspace}/vendor")
    os.link(f"{outside}/hardlinked.txt", f"{workspace}/vendor/hardlinked.txt")
    os.symlink(outside, f"{workspace}/link_out")
    put(f"{workspace}/proctor.yaml", CONTRACT)
    put(f"{workspace}/answers/key", secret)
    put(f"{workspace}/.proctor/ledger.jsonl", secret, 0o600)
    return {
        "root": root,
        "home": home,
        "outside": outside,
        "state": state,
        "ws": workspace,
        "git_common": common,
        "git_dir": own,
        "canary": f"{outside}/canary",
        "cred_files": CREDENTIALS,
        "layout": layout,
        "secret": secret,
        "refs": refs(workspace),
    }


def _repository(root: str, state: str, workspace: str, layout: str) -> tuple[str, str]:
    """The project's repository: in the workspace, or elsewhere with the workspace as a linked worktree of it."""
    source = f"{root}/seed" if layout == "worktree" else workspace
    os.makedirs(source, exist_ok=True)
    git(source, "init", "-q", "-b", "main")
    put(f"{source}/src/app.py", "print('hi')\n")
    put(f"{source}/oracle/check.py", CHECK)
    put(f"{source}/deep/a/oracle/check.py", CHECK)
    git(source, "add", "-A")
    git(source, "commit", "-qm", "c0")
    git(source, "checkout", "-qb", "evil")
    put(f"{source}/oracle/check.py", "SBX_TAMPER\n")
    git(source, "commit", "-qam", "evil")
    git(source, "checkout", "-q", "main")
    if layout != "worktree":
        git(workspace, "config", "extensions.worktreeConfig", "true")
        return f"{workspace}/.git", f"{workspace}/.git"
    common = f"{state}/repos/r1.git"
    git(root, "clone", "-q", "--bare", source, common)
    git(common, "config", "extensions.worktreeConfig", "true")
    git(common, "config", "core.bare", "false")
    os.rmdir(workspace)
    git(common, "worktree", "add", "-q", "-f", "--checkout", "-b", "w1", workspace, "main")
    shutil.rmtree(source)
    put(f"{common}/worktrees/ws/config.worktree", "")
    return common, f"{common}/worktrees/ws"


def refs(workspace: str) -> str:
    """Everything that the operator's repository points at."""
    asked = (["for-each-ref"], ["rev-parse", "HEAD"], ["symbolic-ref", "HEAD"])
    return "".join(git(workspace, *words, check=False) for words in asked)


def _hooks_in_the_tree(c: Config) -> None:
    git(c["ws"], "config", "core.hooksPath", ".githooks")
    put(f"{c['ws']}/.githooks/pre-push", "#!/bin/sh\n", 0o755)


def _hooks_to_come(c: Config) -> None:
    git(c["ws"], "config", "core.hooksPath", "tools/githooks")


def _filter_in_the_tree(c: Config) -> None:
    git(c["ws"], "config", "filter.house.clean", "./tools/clean")
    put(f"{c['ws']}/tools/clean", "#!/bin/sh\ncat\n", 0o755)


def _filter_to_come(c: Config) -> None:
    git(c["ws"], "config", "filter.house.clean", "./filters/clean")


def _hidden_in_history(c: Config) -> None:
    git(c["ws"], "add", "-f", "answers")
    git(c["ws"], "commit", "-qm", "answers")


def _included_config(c: Config) -> None:
    git(c["ws"], "config", "include.path", f"{c['ws']}/.gitconfig.shared")
    put(f"{c['ws']}/.gitconfig.shared", "[alias]\n\tst = status\n")


def _submodule(c: Config) -> None:
    put(f"{c['root']}/library/code.py", "pass\n")
    git(f"{c['root']}/library", "init", "-q")
    git(f"{c['root']}/library", "add", "-A")
    git(f"{c['root']}/library", "commit", "-qm", "library")
    git(c["ws"], "submodule", "--quiet", "add", f"{c['root']}/library", "library")
    git(c["ws"], "commit", "-qm", "library")


SETUPS: dict[str, Callable[[Config], None]] = {
    "hooks_in_the_tree": _hooks_in_the_tree,
    "hooks_to_come": _hooks_to_come,
    "filter_in_the_tree": _filter_in_the_tree,
    "filter_to_come": _filter_to_come,
    "hidden_in_history": _hidden_in_history,
    "included_config": _included_config,
    "submodule": _submodule,
}
"""What a probe's header can ask for on top."""
