"""Whether tests that are gone were moved: two trees are read, and held against each other by a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from proctor.errors import ProctorError
from proctor.oracle import apart
from proctor.oracle.frozen import Frozen
from proctor.oracle.gaming.change import Language, is_test, language_of

SECONDS = 60.0
"""Time that an answer may take."""
_MOST = 5_000
"""Ids that are looked at."""
_FILE = 256 << 10
_COUNTING = ("go.mod", "Cargo.toml", "conftest.py")
"""Files that count for tests though they are what they were."""
_READ = (Language.PYTHON, Language.SCRIPT, Language.GO, Language.RUST)


@dataclass(frozen=True, slots=True)
class Moves:
    """Two trees, between which tests may have moved. What is frozen is the same in both."""

    store: apart.Holds
    frozen: Frozen
    before: str
    after: str

    def stand_ins(self, gone: Sequence[str], new: Mapping[str, bool], old: Collection[str]) -> dict[str, str]:
        """For ids that are gone those that stand for them, as `match.stand_ins` says; none where that cannot be told:
        a tree is not kept any more, or what it holds takes too long to read."""
        if not self.before or len(gone) > _MOST:
            return {}
        try:
            question = {"gone": gone, "new": dict(new), "old": sorted(old), "before": self._tree(self.before),
                        "after": self._tree(self.after)}  # fmt: skip
            for pair in self._pairs():
                for side, data in (("before", pair.before), ("after", pair.after)):
                    if data is not None:
                        question[side]["texts"][pair.path] = data.decode("utf-8", "backslashreplace")  # type: ignore[index]
            done = apart.ask("moves", question, SECONDS)
            done.check_returncode()
            answer = json.loads(done.stdout)
            return {id: str(answer[id]) for id in gone if id in answer}
        except (ProctorError, OSError, ValueError, subprocess.SubprocessError):
            return {}

    def _tree(self, commit: str) -> dict[str, object]:
        paths = self.store.paths(commit)
        modules = [path for path in paths if path.rpartition("/")[2] in _COUNTING][:100]
        texts = {path: self.store.read(commit, path)[:_FILE].decode("utf-8", "replace") for path in modules}
        return {"paths": paths, "texts": {}, "modules": texts}

    def _pairs(self) -> list[apart.Pair]:
        """The code that differs; tests first."""

        def is_code(path: str) -> bool:
            return language_of(path, "") in _READ and path not in self.frozen.by_path

        tests = self.store.pairs(self.before, self.after, lambda path: is_test(path) and is_code(path))[0]
        return [*tests, *self.store.pairs(self.before, self.after, lambda path: not is_test(path) and is_code(path))[0]]
