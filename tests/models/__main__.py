"""`python -m models --script SCRIPT.json --port-file FILE --ledger FILE [--root DIR]`: serve until SIGTERM."""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
from pathlib import Path

from models.script import from_json
from models.server import Models, ledger


def main() -> None:
    parser = argparse.ArgumentParser(prog="models")
    parser.add_argument("--script", type=Path)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--root", default=os.getcwd())
    given = parser.parse_args()
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    script = from_json(json.loads(given.script.read_text())) if given.script else None
    with Models(script, root=given.root) as models:
        _whole(given.port_file, str(models.port))
        over.wait()
        if given.ledger:
            _whole(given.ledger, json.dumps(ledger(models), indent=1))


def _whole(path: Path, text: str) -> None:
    """Written at once: whoever waits for the file finds all of it."""
    beside = path.with_suffix(".part")
    beside.write_text(text)
    beside.replace(path)


if __name__ == "__main__":
    main()
