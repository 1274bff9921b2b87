"""What the harness writes into the workspace: the statuses in the task list, the log, the rulebook's safekeeping.

The journal is the truth, these files are its projections, and workers write to them too. The harness keeps a copy
of each out of the worker's reach. What a worker changed in the task list is put back and told, with its version
set aside; in the log and the rulebook its lines stay, and lines that it removed come back.

All of it runs between iterations: a rename over a file that a running sandbox has mounted would part the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import UsageError
from proctor.text import safe_id, safe_line
from proctor.workspace import files, tasks
from proctor.workspace.log import Entry, annotated, appended, conflicts, merged
from proctor.workspace.marking import OWNED, Mark, with_marks

_SHOWN = 10
_LONG = files.LOG_LIMIT // 8  # characters of up to four bytes: the log stays readable with a worker's lines added
_GONE = "deleted"


@dataclass(frozen=True, slots=True)
class Projection:
    """The projected files of one workspace, by name, and the folder `store` that no worker can reach."""

    workspace: Path
    store: Path
    tasks_file: str = "tasks.json"
    plan_file: str = "PLAN.md"
    progress_file: str = "PROGRESS.md"
    rules_file: str = "RULES.md"

    def keep(self) -> None:
        """Take the files as they stand for the operator's: when the tasks are read and no worker ran since."""
        source = tasks.source(self.workspace, self.tasks_file, self.plan_file)
        for name in {self.tasks_file, self.plan_file} - {source}:
            (self.store / safe_id(name)).unlink(missing_ok=True)
        for name in (source, self.progress_file, self.rules_file):
            self._keep(name, files.read_optional(self.workspace, name, self._limit(name)) or "")

    def restore(self) -> tuple[str, ...]:
        """Undo what a worker did to the files and say so, a line for each thing undone."""
        return (*self._restore_list(), *self.restore_logs())

    def restore_logs(self) -> tuple[str, ...]:
        """The same for the log and the rulebook alone: where the task list was out of the worker's reach."""
        return (*self._restore_lines(self.progress_file), *self._restore_lines(self.rules_file))

    def put_back(self, name: str, text: str | None) -> tuple[str, ...]:
        """Write a file's earlier text again, or take away what was not there; what stands there now is set aside."""
        current, problem = self._current(name)
        if current == text and problem in ("", _GONE):
            return ()
        if text is None:
            return (f"{safe_line(name)}: made while a worker ran; now {self._set_aside(name)}",)
        return tuple(self._put_back(name, text, [problem or "replaced while a worker ran"]))

    def project(self, marks: Iterable[Mark]) -> None:
        """Write the marks into the task list; all else in it stays, to the byte. A plan is left alone."""
        text = files.read_optional(self.workspace, self.tasks_file)
        if text is None:
            return
        tasks.entries(self.tasks_file, text)
        marked = with_marks(text, marks)
        self._keep(self.tasks_file, marked)
        if marked != text:
            files.write(self.workspace, self.tasks_file, marked)

    def append(self, entry: Entry, marks: Iterable[Mark]) -> None:
        """Add an entry to the log, once; claims in the worker's new lines that no verdict proves are annotated.

        A log that has grown too long is set aside whole, and a new one begun.
        """
        kept = self._kept(self.progress_file) or ""
        current = files.read_optional(self.workspace, self.progress_file, files.LOG_LIMIT) or ""
        text, _ = merged(kept, current)
        text = appended(annotated(kept, text, marks), entry)
        if len(text) > _LONG:
            text = appended(f"Earlier entries: {self._set_aside(self.progress_file)}\n", entry)
        files.write(self.workspace, self.progress_file, text)
        self._keep(self.progress_file, text)

    def news(self, marks: Iterable[Mark]) -> tuple[int, int]:
        """How many characters the log has more than the harness left in it, and how many of its new lines say that
        something is done which no verdict proves."""
        kept = self._kept(self.progress_file) or ""
        current = files.read_optional(self.workspace, self.progress_file, files.LOG_LIMIT) or ""
        notes = annotated(kept, current, marks).count("\n") - annotated(kept, current, ()).count("\n")
        return max(0, len(current) - len(kept)), notes

    def conflicts(self) -> tuple[str, ...]:
        """Why workers call a check wrong: what follows `conflict:` on new lines of the log."""
        current = files.read_optional(self.workspace, self.progress_file, files.LOG_LIMIT) or ""
        return conflicts(self._kept(self.progress_file) or "", current)

    def _restore_list(self) -> list[str]:
        kept = self._kept(self.tasks_file)
        if kept is None:
            return self._restore_plan()
        current, problem = self._current(self.tasks_file)
        changes = [problem]
        if current is not None:
            before = tasks.entries(self.tasks_file, kept)
            try:
                changes = _changes(before, tasks.entries(self.tasks_file, current))
            except UsageError as error:
                changes = [self._bare(self.tasks_file, error)]
        return self._put_back(self.tasks_file, kept, changes) if changes else []

    def _restore_plan(self) -> list[str]:
        """The plan, where it is the task list: a worker neither changes it nor puts a list of its own before it."""
        kept = self._kept(self.plan_file)
        if kept is None:
            return []
        lines = []
        if self._current(self.tasks_file) != (None, _GONE):
            lines = [f"{safe_line(self.tasks_file)}: made while a worker ran; now {self._set_aside(self.tasks_file)}"]
        current, problem = self._current(self.plan_file)
        if current != kept:
            lines += self._put_back(self.plan_file, kept, [problem or "changed"])
        return lines

    def _restore_lines(self, name: str) -> list[str]:
        """Bring back what was removed from a file whose lines only ever grow."""
        kept = self._kept(name)
        if kept is None:
            return []
        current, problem = self._current(name)
        if current is None and not kept and problem == _GONE:
            return []
        if current is None:
            return self._put_back(name, kept, [problem])
        text, lacking = merged(kept, current)
        if not lacking:
            return []
        files.write(self.workspace, name, text)
        return [f"{safe_line(name)}: {lacking} lines removed or changed while a worker ran; put back"]

    def _put_back(self, name: str, text: str, changes: list[str]) -> list[str]:
        """Write the kept text again, the changed version set aside; a line for each change."""
        lines = [f"{safe_line(name)}: {change}; put back" for change in changes[:_SHOWN]]
        if len(changes) > _SHOWN:
            lines.append(f"{safe_line(name)}: {len(changes) - _SHOWN} more changes; put back")
        if changes != [_GONE]:
            lines[-1] += f" (as found: {self._set_aside(name)})"
        files.write(self.workspace, name, text)
        return lines

    def _set_aside(self, name: str) -> str:
        path = files.set_aside(self.workspace, name, self.store / "set-aside")
        return safe_line(str(path.relative_to(self.workspace) if path.is_relative_to(self.workspace) else path))

    def _current(self, name: str) -> tuple[str | None, str]:
        """The text that stands there now, or None and what is wrong with it."""
        try:
            return files.read(self.workspace, name, self._limit(name)), ""
        except files.Missing:
            return None, _GONE
        except UsageError as error:
            return None, self._bare(name, error)

    def _bare(self, name: str, error: UsageError) -> str:
        return str(error).removeprefix(safe_line(name)).lstrip(": ")

    def _limit(self, name: str) -> int:
        return files.LOG_LIMIT if name == self.progress_file else files.READ_LIMIT

    def _kept(self, name: str) -> str | None:
        return files.read_optional(self.store, safe_id(name), files.LOG_LIMIT) if self.store.is_dir() else None

    def _keep(self, name: str, text: str) -> None:
        self.store.mkdir(parents=True, exist_ok=True)
        files.write(self.store, safe_id(name), text)


def _changes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[str]:
    """What differs between two task lists, a phrase for each change."""
    old = {str(task.get("id")): task for task in before}
    new = {str(task.get("id")): task for task in after}
    found = [f"task {name} removed" for name in old if name not in new]
    found += [f"task {safe_line(name)} added" for name in new if name not in old]
    for name in (name for name in old if name in new):
        for key in {**old[name], **new[name]}:
            was, now = old[name].get(key), new[name].get(key)
            if was != now and key in OWNED:
                found.append(f"task {name}: {key} {safe_line(json.dumps(was))} had become {safe_line(json.dumps(now))}")
            elif was != now:
                found.append(f"task {name}: {safe_line(key)} changed")
    if not found and list(old) != list(new):
        found.append("order changed")
    return found
