"""Starting, freezing and ending a sandbox, beside a minimal bubblewrap in the same run.

The floor is `bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc true`, started and waited for; beside it a
worker's own sandbox with its door's listener. Pairs in turn, medians.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Bar, flags, median, report

from proctor.sandbox.choose import bubblewrap
from proctor.sandbox.policy import Policy

FLOOR = ["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]
FORKING = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 100 & done; echo up; wait"


def timed(work: object) -> float:
    begun = time.perf_counter()
    work()  # type: ignore[operator]
    return (time.perf_counter() - begun) * 1000


def main() -> int:
    given = flags(__doc__)
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        workspace.mkdir()
        backend, policy = bubblewrap(), Policy(workspace, listen=True)
        floor = [str(backend.binary), *FLOOR]

        def whole() -> None:
            with backend.launch(["true"], policy) as running:
                running.wait(20)

        def minimal() -> None:
            subprocess.run(floor, check=True)

        whole()
        minimal()
        pairs = [(timed(minimal), timed(whole)) for _ in range(given.rounds)]
        freezes, kills = [], []
        for _ in range(given.rounds):
            with backend.launch(["sh", "-c", FORKING], policy, stdout=subprocess.PIPE) as running:
                assert running.stdout is not None
                running.stdout.readline()
                freezes.append(timed(running.freeze))
                kills.append(timed(running.kill))
    figures = {
        "minimal bwrap, ms": median(one for one, _ in pairs),
        "a worker's sandbox, ms": median(two for _, two in pairs),
        "ratio to minimal bwrap": median(two / one for one, two in pairs),
        "freeze of 12 processes, ms": median(freezes),
        "kill of 12 frozen processes, ms": median(kills),
    }
    return report(given, figures, (Bar("kill of 12 frozen processes, ms", 100),))


if __name__ == "__main__":
    sys.exit(main())
