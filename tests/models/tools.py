"""What a script wants done, in the tools that a request offers: each client has its own names and arguments."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.script import Action, Agent, Edit, Read, Shell, Tool, View, Write

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent waits for: it does not end because its model has nothing more to do."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call on the wire: `arguments` as an object, or as the text that a custom tool takes."""

    name: str
    arguments: Mapping[str, Any] | str


def translated(say: str, actions: Iterable[Action], view: View, root: str) -> tuple[str, list[Call]]:
    """The text and the tool calls of a turn. Paths are relative to `root`, the workspace as the client knows it."""
    wanted = list(actions)
    if not wanted and "bash" in view.tools and SUBMIT in view.system + view.prompt:
        wanted = [Shell(f"echo {SUBMIT}")]
    if not view.tools and not any(isinstance(action, Tool) for action in wanted):
        return _spoken(say, wanted, view), []
    return say, [_call(action, view, Path(root)) for action in wanted]


def _call(action: Action, view: View, root: Path) -> Call:
    match action:
        case Tool(name, arguments):
            return Call(name, arguments)
        case Shell(command):
            return _shell(command, view, root)
        case Agent(prompt):
            name = _first(view, "Agent", "Task", "task")
            return Call(name, {"description": "part", "prompt": prompt, "subagent_type": "general-purpose"})
        case Read(path):
            return _read(path, view, root)
        case Write(path, text):
            return _write(path, text, view, root)
        case Edit(path, old, new):
            return _edit(path, old, new, view, root)
    raise AssertionError(action)


def _first(view: View, *names: str) -> str:
    for name in names:
        if name in view.tools:
            return name
    raise AssertionError(f"no tool like {names[0]} is offered: {sorted(view.tools)}")


def _shell(command: str, view: View, root: Path) -> Call:
    name = _first(view, "Bash", "bash", "exec_command", "run_shell_command", "shell")
    if name == "exec_command":
        return Call(name, {"cmd": command, "workdir": str(root)})
    if name == "shell":
        return Call(name, {"command": ["bash", "-lc", command]})
    arguments: dict[str, Any] = {"command": command}
    offered = view.tools[name].get("properties") or {}
    if "description" in offered:
        arguments["description"] = "Run a command"
    if "is_background" in offered:
        arguments["is_background"] = False
    return Call(name, arguments)


def _path(name: str, view: View) -> str:
    """The name of the argument that holds a file's path."""
    offered = view.tools[name].get("properties") or {}
    return next(key for key in ("file_path", "filePath", "absolute_path", "path") if key in offered)


def _has(view: View, *names: str) -> bool:
    return any(name in view.tools for name in names)


def _read(path: str, view: View, root: Path) -> Call:
    if not _has(view, "Read", "read", "read_file"):
        return _shell(f"cat {shlex.quote(path)}", view, root)
    name = _first(view, "Read", "read", "read_file")
    return Call(name, {_path(name, view): str(root / path)})


def _write(path: str, text: str, view: View, root: Path) -> Call:
    if _has(view, "apply_patch"):
        return _patch([f"*** Add File: {path}", *("+" + line for line in text.splitlines())], view)
    if not _has(view, "Write", "write", "write_file"):
        return _shell(_heredoc(path, text), view, root)
    name = _first(view, "Write", "write", "write_file")
    return Call(name, {_path(name, view): str(root / path), "content": text})


def _edit(path: str, old: str, new: str, view: View, root: Path) -> Call:
    if _has(view, "apply_patch"):
        hunk = ["-" + line for line in old.splitlines()] + ["+" + line for line in new.splitlines()]
        return _patch([f"*** Update File: {path}", "@@", *hunk], view)
    if not _has(view, "Edit", "edit", "replace"):
        code = f"import pathlib\np = pathlib.Path({path!r})\np.write_text(p.read_text().replace({old!r}, {new!r}, 1))"
        return _shell(f"python3 - <<'PYTHON'\n{code}\nPYTHON", view, root)
    name = _first(view, "Edit", "edit", "replace")
    camel = _path(name, view) == "filePath"
    arguments = {_path(name, view): str(root / path)}
    arguments |= {"oldString": old, "newString": new} if camel else {"old_string": old, "new_string": new}
    if "instruction" in (view.tools[name].get("properties") or {}):
        arguments["instruction"] = "Replace the text"
    return Call(name, arguments)


def _patch(lines: list[str], view: View) -> Call:
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"]) + "\n"
    return Call("apply_patch", text if view.tools["apply_patch"].get("custom") else {"input": text})


def _heredoc(path: str, text: str) -> str:
    return f"cat > {shlex.quote(path)} <<'END_OF_FILE'\n{text.rstrip()}\nEND_OF_FILE"


def _spoken(say: str, actions: list[Action], view: View) -> str:
    """For clients without tools: edits as aider reads them, commands as blocks of shell."""
    parts = [say]
    blocks = "SEARCH/REPLACE" in view.system or ">>>>>>> REPLACE" in view.system
    for action in actions:
        match action:
            case Shell(command):
                parts.append(f"```bash\n{command}\n```")
            case Write(path, text) if not blocks:
                parts.append(f"{path}\n```\n{text.rstrip()}\n```")
            case Write(path, text):
                parts.append(_replace(path, "", text))
            case Edit(path, old, new) if blocks:
                parts.append(_replace(path, old, new))
            case Edit(path, old, new):
                parts.append(f"{path}\n```\n{new.rstrip()}\n```")
    return "\n\n".join(filter(None, parts))


def _replace(path: str, old: str, new: str) -> str:
    before = old.rstrip("\n") + "\n" if old else ""
    return f"{path}\n```python\n<<<<<<< SEARCH\n{before}=======\n{new.rstrip()}\n>>>>>>> REPLACE\n```"
