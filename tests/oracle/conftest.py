from __future__ import annotations

from pathlib import Path

import pytest

from .project import TEST_ADD, WRONG, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project `calc` with a wrong `add` and frozen unittest tests for it."""
    project = Project(tmp_path)
    project.write("calc.py", WRONG)
    project.write("tests/__init__.py", "")
    project.write("tests/test_add.py", TEST_ADD)
    project.freeze("tests/")
    return project
