"""The host's word: whether a probe changed or reached something, whatever it said itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from probes import services
from probes.fixture import CHECK, CLEAN, CONTRACT, TOOL, Config, git, refs
from probes.services import Services

TAMPER = "TAMPER"
AUTOEXEC = (
    ".envrc",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".mcp.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".husky/pre-commit",
    ".bashrc",
    ".gitconfig",
)
AUTOSTART = (
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".ssh/authorized_keys",
    ".gitconfig",
    ".pythonrc",
    ".npmrc",
)


def read(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return None


def tampered(path: str) -> bool:
    return TAMPER in (read(path) or "")


def canary(c: Config, below: str = "") -> bool:
    """Does with the tree what an operator does first; whether any command of the worker's ran."""
    folder = c["ws"] + below
    for words in (
        ["status"],
        ["diff"],
        ["add", "-A"],
        ["status", "--short"],
        ["commit", "--allow-empty", "-qm", "host"],
        ["status"],
    ):
        git(folder, *words, check=False)
    return os.path.exists(c["canary"])


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether it comes: what crosses a socket or a signal takes a moment."""
    end = time.monotonic() + seconds
    while not (came := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return came


def _oracle_mode(c: Config, _: Services) -> bool:
    about = os.stat(f"{c['ws']}/oracle/check.py")
    return about.st_mode & 0o7777 != 0o644 or int(about.st_mtime) == 1


def _objects(c: Config, _: Services) -> bool:
    return not git(c["ws"], "rev-list", "--objects", "--all", check=False) or "missing" in git(
        c["ws"], "cat-file", "--batch-check", "--batch-all-objects", check=False
    )


def _core(c: Config, _: Services) -> bool:
    """A dump is there, or could be: a limit of 1 is the kernel's word for none, also where a program takes dumps."""
    dumped = [name for name in os.listdir(c["ws"]) if name == "core" or name.startswith("core.")]
    return bool(dumped) or read(f"{c['ws']}/core-limit") not in ("0", "1")


def _outside_touched(c: Config, _: Services) -> bool:
    about = os.stat(f"{c['outside']}/target.txt")
    return about.st_mode & 0o7777 != 0o644 or int(about.st_mtime) == 1 or about.st_size != len(CLEAN)


Verify = Callable[[Config, Services], bool]

VERIFY: dict[str, Verify] = {
    "outside_changed": lambda c, s: read(f"{c['outside']}/target.txt") != CLEAN,
    "outside_touched": _outside_touched,
    "git_alternates": lambda c, s: c["ws"] in (read(f"{c['git_common']}/objects/info/alternates") or ""),
    "setuid_left": lambda c, s: any(path.lstat().st_mode & 0o6000 for path in Path(c["ws"]).iterdir()),
    "oracle_listing": lambda c, s: os.listdir(f"{c['ws']}/oracle") != ["check.py"],
    "victim_or_pts": lambda c, s: within(0.3, lambda: os.path.exists(s.signalled) or s.wrote_on_terminal()),
    "core_limit": _core,
    "hardlinked_changed": lambda c, s: read(f"{c['outside']}/hardlinked.txt") != CLEAN,
    "home_rc_changed": lambda c, s: any(tampered(f"{c['home']}/{name}") for name in (".bashrc", ".profile")),
    "home_tool_changed": lambda c, s: read(f"{c['home']}/.local/bin/tool") != TOOL,
    "home_autostart": lambda c, s: any(tampered(f"{c['home']}/{name}") for name in AUTOSTART),
    "other_project_changed": lambda c, s: tampered(f"{c['home']}/projects/other/.env"),
    "workspace_moved": lambda c, s: not os.path.isdir(f"{c['ws']}/.probe"),
    "tmp_marker": lambda c, s: os.path.exists(f"/tmp/{c['tag']}"),
    "var_tmp_marker": lambda c, s: os.path.exists(f"/var/tmp/{c['tag']}"),
    "shm_marker": lambda c, s: os.path.exists(f"/dev/shm/{c['tag']}"),
    "state_changed": lambda c, s: tampered(f"{c['state']}/ledger.jsonl"),
    "own_state_changed": lambda c, s: read(f"{c['ws']}/.proctor/ledger.jsonl") != c["secret"],
    "contract_changed": lambda c, s: read(f"{c['ws']}/proctor.yaml") != CONTRACT,
    "ws_autoexec": lambda c, s: any(tampered(f"{c['ws']}/{name}") for name in AUTOEXEC),
    "git_exec": lambda c, s: canary(c),
    "git_exec_nested": lambda c, s: canary(c, "/sub"),
    "git_exec_submodule": lambda c, s: canary(c, "/library") or canary(c),
    "git_modules_changed": lambda c, s: "fsmonitor" in (read(f"{c['git_common']}/modules/m/config") or ""),
    "git_refs_changed": lambda c, s: refs(c["ws"]) != c["refs"],
    "git_index_changed": lambda c, s: "planted" in git(c["ws"], "ls-files", check=False),
    "git_objects_lost": _objects,
    "oracle_changed": lambda c, s: read(f"{c['ws']}/oracle/check.py") != CHECK,
    "oracle_mode": _oracle_mode,
    "deep_oracle_changed": lambda c, s: read(f"{c['ws']}/deep/a/oracle/check.py") != CHECK,
    "victim_signalled": lambda c, s: within(0.3, lambda: os.path.exists(s.signalled) or not s.alive()),
    "victim_reniced": lambda c, s: s.niceness() != c["niceness"],
    "semaphore_raised": lambda c, s: s.semaphore() != 0,
    "key_planted": lambda c, s: services.has_key(f"{c['tag']}planted"),
    "tty_injected": lambda c, s: "SBXKEYS" in c.get("tty_report", ""),
    "pts_written": lambda c, s: within(0.3, s.wrote_on_terminal),
    "gateway_replaced": lambda c, s: (
        not os.path.exists(c["gateway_host_sock"]) or os.stat(c["gateway_host_sock"]).st_ino != s.gateway
    ),
    "ws_written": lambda c, s: os.path.exists(f"{c['ws']}/src/new2.py") and not os.path.exists(f"{c['ws']}/src/app.py"),
    "inbound_hit": lambda c, s: within(0.3, lambda: "inbound" in s.hits),
}
for _name in ("tcp", "tcp6", "udp", "dns", "abstract", "gateway"):
    VERIFY[f"{_name}_hit"] = lambda c, s, name=_name: within(0.2, lambda: name in s.hits)  # type: ignore[misc]
for _name in ("docker", "bus", "wayland", "agent", "homesock", "wssock", "deepsock"):
    VERIFY[f"unix_hit_{_name}"] = lambda c, s, name=_name: within(0.2, lambda: name in s.hits)  # type: ignore[misc]
