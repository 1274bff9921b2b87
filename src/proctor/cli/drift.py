"""The lights of drift: it only reads, and loads neither the screen nor YAML."""

from __future__ import annotations

import argparse

from proctor.cli.read import must_be_a_project, print_json
from proctor.journal.state import State
from proctor.journal.store import NoJournal
from proctor.supervisor.client import Client
from proctor.supervisor.status import drift_of
from proctor.text import safe_line
from proctor.words import ExitCode, Light

MARKS = {Light.QUIET: " ", Light.SUSPECT: "?", Light.FIRING: "!"}


def drift(given: argparse.Namespace) -> int:
    """A line for each light with its why, and its evidence below where it is lit."""
    try:
        with Client(given.dir) as client:
            found = drift_of(client.state())
    except NoJournal:
        must_be_a_project(given.dir)
        found = drift_of(State())
    if given.json:
        return print_json(found)
    for name, one in (*found["lights"].items(), ("plateau", found["plateau"])):
        print(f"{MARKS[one['light']]} {name.replace('_', ' '):18} {one['light']:8} {safe_line(one['why'], 300)}")
        for line in one["evidence"] if one["light"] is not Light.QUIET else ():
            print(f"      {safe_line(line, 300)}")
    if found["signal"]["why"]:
        print(f"{MARKS[Light.SUSPECT]} {found['signal']['why']}")
    return ExitCode.DONE
