"""Ignored environments: there for the checks, and as they were."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from proctor.oracle.frozen import load_frozen
from proctor.oracle.tamper import kind
from proctor.words import TamperKind, Verdict

from .project import Project

SITE = f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
TOOL = (".venv/bin/tool",)


@pytest.fixture
def equipped(project: Project) -> Project:
    """A project with an ignored environment: a program, a runner's package, an ordinary one."""
    project.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    project.write(".venv/bin/tool", f"#!/bin/sh\ncat {SITE}/_pytest/main.py\nexit 1\n", 0o755)
    (project.workspace / ".venv/bin/python").symlink_to(sys.executable)
    project.write(f"{SITE}/_pytest/main.py", "honest\n")
    project.write(f"{SITE}/_pytest/__pycache__/main.cpython-311.pyc", "compiled\n")
    project.write(f"{SITE}/left/__init__.py", "left\n")
    project.write(f"{SITE}/known.pth", "")
    project.freeze("tests", checks=[TOOL], ignored=[".venv", "build"])
    return project


def test_an_environment_stands_where_it_stood_and_cannot_be_written(equipped: Project) -> None:
    assert equipped.frozen.borrowed == (".venv",)
    judgement = equipped.judge(TOOL)
    assert (judgement.verdict, judgement.reason, judgement.tampered) == (Verdict.FAILED, "exit code 1", ())
    assert equipped.log(judgement) == "honest\n"
    assert equipped.judge(["sh", "-c", "touch .venv/x || touch .venv/bin/tool"]).verdict is Verdict.FAILED
    assert not (equipped.workspace / ".venv/x").exists()


def test_programs_and_runner_packages_are_seen_as_they_were(equipped: Project) -> None:
    equipped.write(".venv/bin/tool", "#!/bin/sh\nexit 0\n", 0o755)
    equipped.write(f"{SITE}/_pytest/main.py", "forged\n")
    judgement = equipped.judge(TOOL)
    assert judgement.verdict is Verdict.FAILED
    assert equipped.log(judgement) == "honest\n"
    assert judgement.tampered == (".venv/bin/tool", f"{SITE}/_pytest/main.py")
    assert (equipped.workspace / SITE / "_pytest/main.py").read_text() == "forged\n"


def test_new_start_up_files_and_plugins_are_covered_and_new_packages_are_not(equipped: Project) -> None:
    new = (f"{SITE}/evil.pth", f"{SITE}/evil-1.dist-info/entry_points.txt", f"{SITE}/sitecustomize.py")
    for path in new:
        equipped.write(path, "[pytest11]\nevil = evil\n")
    equipped.write(f"{SITE}/right/__init__.py", "right\n")
    equipped.write(f"{SITE}/right-1.dist-info/entry_points.txt", "[console_scripts]\n")
    show = f"cd {SITE} && cat */__init__.py *.pth sitecustomize.py *.dist-info/*"
    judgement = equipped.judge(["sh", "-c", show])
    assert judgement.tampered == tuple(sorted(new))
    assert equipped.log(judgement) == "left\nright\n[console_scripts]\n"


def test_compiled_files_of_a_runner_are_covered_in_silence(equipped: Project) -> None:
    show = ["sh", "-c", f"ls {SITE}/_pytest/__pycache__"]
    assert equipped.log(equipped.judge(show)) == "main.cpython-311.pyc\n"
    equipped.write(f"{SITE}/_pytest/__pycache__/main.cpython-311.pyc", "forged\n")
    judgement = equipped.judge(show)
    assert equipped.log(judgement) == ""
    assert judgement.tampered == ()


def test_what_cannot_be_covered_is_infra(equipped: Project) -> None:
    python = equipped.workspace / ".venv/bin/python"
    python.unlink()
    python.symlink_to("/bin/true")
    judgement = equipped.judge(TOOL)
    assert judgement.verdict is Verdict.INFRA
    assert judgement.reason == ".venv/bin/python was removed or replaced, and the checks need it"
    os.rename(equipped.workspace / ".venv", equipped.workspace / "moved")
    assert equipped.judge(TOOL).reason == ".venv is gone, and the checks need it"
    (equipped.workspace / ".venv").symlink_to("moved")
    assert equipped.judge(TOOL).reason == ".venv is gone, and the checks need it"


def test_an_environment_that_a_worker_puts_into_the_tree_is_not_believed(equipped: Project) -> None:
    commit = equipped.copies.snapshot(equipped.workspace)
    tree = equipped.copies.folder / commit
    (tree / ".venv").symlink_to("tests")
    equipped.copies.snapshot = lambda _: commit  # type: ignore[method-assign]
    judgement = equipped.judge(TOOL)
    assert equipped.log(judgement) == "honest\n"


def test_caches_and_build_folders_are_not_borrowed(project: Project) -> None:
    for path in ("build/out", "tests/__pycache__/x.pyc", "target/debug/x"):
        project.write(path, "")
    assert project.freeze("tests", ignored=["build", "tests/__pycache__", "target"]).borrowed == ()
    shutil.rmtree(project.workspace / "build")


def test_node_modules_are_borrowed_with_their_runners_guarded(project: Project) -> None:
    project.write("node_modules/jest/index.js", "honest\n")
    project.write("node_modules/left/package.json", '{"version": "1"}')
    project.write("node_modules/left/index.js", "left\n")
    project.write("node_modules/.bin/jest", "#!/bin/sh\ncat node_modules/*/index.js\n", 0o755)
    project.freeze("tests", ignored=["node_modules"])
    project.write("node_modules/jest/index.js", "forged\n")
    project.write("node_modules/left/index.js", "newer\n")
    project.write("node_modules/left/package.json", '{"version": "2"}')
    judgement = project.judge(["node_modules/.bin/jest"])
    assert project.log(judgement) == "honest\nnewer\n"
    assert judgement.tampered == ("node_modules/jest/index.js",)


@pytest.fixture
def installed(equipped: Project) -> Project:
    """The same, with an ordinary package that has a record of its files."""
    equipped.write(f"{SITE}/left-1.dist-info/RECORD", "left/__init__.py,,\nleft-1.dist-info/RECORD,,\n")
    equipped.freeze("tests", checks=[TOOL], ignored=[".venv"])
    return equipped


def test_a_package_that_was_changed_in_place_is_installed_tampering_and_no_check_is_judged_on_it(
    installed: Project,
) -> None:
    package = installed.workspace / SITE / "left/__init__.py"
    before = package.stat()
    package.write_text("evil\n")
    os.utime(package, ns=(before.st_atime_ns, before.st_mtime_ns))
    installed.write("tests/test_add.py", "")
    judgement = installed.judge(TOOL)
    assert judgement.verdict is Verdict.INFRA
    assert judgement.reason == f"{SITE}/left/__init__.py was changed where it is installed; install it anew"
    assert judgement.tampered == (f"{SITE}/left/__init__.py", "tests/test_add.py")
    assert kind(judgement.tampered[0], installed.frozen) is TamperKind.INSTALLED
    package.write_text("left\n")
    assert installed.judge(TOOL).tampered == ("tests/test_add.py",), "what is what it was counts, whatever its times"


@pytest.mark.parametrize("how", ["removed", "shadowed", "linked"])
def test_other_ways_to_change_a_package_in_place(installed: Project, how: str) -> None:
    site = installed.workspace / SITE
    changed = "left/__init__.py" if how != "shadowed" else "left.so"
    match how:
        case "removed":
            (site / changed).unlink()
        case "shadowed":
            (site / changed).touch()
        case "linked":
            (site / changed).unlink()
            (site / changed).symlink_to("/etc/passwd")
    assert installed.judge(TOOL).tampered == (f"{SITE}/{changed}",)


def test_installers_work_is_honest(installed: Project) -> None:
    site = installed.workspace / SITE
    (site / "left-1.dist-info").rename(site / "left-2.dist-info")
    installed.write(f"{SITE}/left/__init__.py", "newer\n")
    installed.write(f"{SITE}/left/__pycache__/x.pyc", "")
    installed.write(f"{SITE}/right/__init__.py", "right\n")
    installed.write(f"{SITE}/right-1.dist-info/RECORD", "right/__init__.py,,\n")
    assert installed.judge(TOOL).tampered == ()


def test_the_manifest_of_an_environment_is_part_of_the_revision(installed: Project) -> None:
    first = installed.frozen
    assert [tree.path for tree in first.trees] == [".venv"]
    assert load_frozen(installed.oracle) == first
    installed.write(f"{SITE}/left/__init__.py", "newer\n")
    assert installed.freeze("tests", checks=[TOOL], ignored=[".venv"]).rev != first.rev


def test_test_tools_of_pnpm_and_vendored_packages_are_frozen_too(project: Project) -> None:
    tool = "node_modules/.pnpm/@jest+core@29.7.0/node_modules/@jest/core/index.js"
    for path in (tool, "node_modules/.pnpm/left@1.0.0/node_modules/left/index.js", "node_modules/chai/index.js"):
        project.write(path, "honest\n")
    project.write("vendor/modules.txt", "# github.com/left v1\n")
    frozen = project.freeze("tests", ignored=["node_modules", "vendor"])
    assert frozen.borrowed == ("node_modules", "vendor")
    assert {item.path for item in frozen.guarded} == {tool, "node_modules/chai/index.js"}


def test_a_new_program_stands_before_none_of_the_systems_and_a_new_library_for_tests_is_honest(
    project: Project,
) -> None:
    project.write("node_modules/jest/package.json", "jest\n")
    project.freeze("tests", ignored=["node_modules"])
    honest = ("node_modules/.bin/left", "node_modules/supertest/index.js")
    dishonest = ("node_modules/.bin/node", "node_modules/jest/node_modules/expect/index.js", "node_modules/mocha/x.js")
    for path in (*honest, *dishonest):
        project.write(path, "#!/bin/sh\necho forged\n", 0o755)
    judgement = project.judge(
        ["sh", "-c", f"PATH=node_modules/.bin:$PATH command -v left; command -v node; cat {honest[1]}"]
    )
    assert judgement.tampered == dishonest
    assert project.log(judgement).startswith("node_modules/.bin/left\n/")
    assert "forged" in project.log(judgement)
