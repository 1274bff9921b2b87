"""The question whether tests moved as a process of its own: what a worker wrote may be made to cost time and memory.

JSON in, JSON out. It needs the standard library only, so that it starts fast and without the site's packages.
"""

from __future__ import annotations

import json
import resource
import sys

from proctor.oracle.moves.match import stand_ins
from proctor.oracle.moves.trees import Tree

SECONDS, BYTES = 30, 1 << 30
"""Processor time and memory of one answer."""


def main() -> None:
    """Read `gone`, `new`, `old`, and of the trees `before` and `after` `paths`, `texts` and `modules`; print for ids
    that are gone those that stand for them."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    given = json.load(sys.stdin.buffer)
    trees = [Tree(frozenset(t["paths"]), t["texts"], t["modules"]) for t in (given["before"], given["after"])]
    json.dump(stand_ins(given["gone"], given["new"], frozenset(given["old"]), *trees), sys.stdout)


if __name__ == "__main__":
    main()
