"""What a check asks for beside its exit code, in the real sandbox; whatever cannot be weighed is no pass."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from proctor.journal.events import CheckFact
from proctor.journal.events.checks import Artifact, Expect, Page, Schema
from proctor.oracle import rules
from proctor.oracle.check import Judgement, judge
from proctor.oracle.freeze import freeze
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Limits, Policy
from proctor.words import Verdict

from .project import Project

PASSED, FAILED, INFRA, TIMEOUT = Verdict.PASSED, Verdict.FAILED, Verdict.INFRA, Verdict.TIMEOUT
SERVED = Path(__file__).with_name("served.py")
STAND_IN = SERVED.with_name("browser.sh")
OBJECT = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with files that checks compare with, frozen as such."""
    project = Project(tmp_path_factory.mktemp("rules"))
    project.write("golden.txt", "one\ntwo\n")
    project.write("object.json", json.dumps(OBJECT))
    project.write("list.json", "[1]")
    project.write("odd.json", json.dumps({"type": 3}))
    project.write("dialect.json", json.dumps({"$schema": "https://example.com/own"}))
    project.write("remote.json", json.dumps({"$ref": "https://example.com/x.json"}))
    project.write("slow.json", json.dumps({"pattern": "^(a+)+$"}))
    (project.workspace / "latin.json").write_bytes(b'{"title": "\xe9"}')
    (project.workspace / "folder").mkdir()
    (project.workspace / "folder/x").write_text("x")
    (project.workspace / "link.txt").symlink_to("golden.txt")
    with (project.workspace / "huge.json").open("wb") as file:
        file.truncate(9 << 20)
    shutil.copyfile(SERVED, project.workspace / "served.py")
    names = [entry.name for entry in project.workspace.iterdir() if entry.name != "served.py"]
    for how in ("shows", "crashes", "spins", "floods", "broken", "stuck"):
        project.write(how, STAND_IN.read_text(), 0o755)
    project.frozen = freeze(project.workspace, project.oracle, ["folder"], [], named=names)
    (project.workspace / "golden.txt").write_text("bent\n")
    return project


def said(judgement: Judgement) -> tuple[Verdict, str]:
    return judgement.verdict, judgement.reason.removeprefix("exit code 0, but ")


def sh(script: str, **rules: object) -> CheckFact:
    return CheckFact(run=("sh", "-c", script), **rules)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("script", "expect", "verdict", "reason"),
    [
        ("printf 'one\\ntwo\\n'", Expect(golden="golden.txt"), PASSED, ""),
        ("printf 'one\\nTwo\\n'", Expect(golden="golden.txt"), FAILED, "the output is not golden.txt: line 2 differs"),
        ("echo bent", Expect(golden="golden.txt"), FAILED, "the output is not golden.txt: line 1 differs"),
        ("head -c 9000000 /dev/zero", Expect(golden="golden.txt"), FAILED, "the output is larger than 8M"),
        ("echo a; echo bc", Expect(text="a", regex="^b.$"), PASSED, ""),
        ("echo abc", Expect(text="ab", regex="^b"), FAILED, "the output does not match /^b/"),
        ("echo '{\"a\": [1, {\"b\": 2}]}'", Expect(json="$.a[-1]['b']", equals="2.0"), PASSED, ""),
        ("echo '{\"a\": true}'", Expect(json="$.a", equals="1"), FAILED, "the output has true at $.a, not 1"),
        ("echo '[{\"n\": 1}, {\"n\": 2}]'", Expect(json="$[*].n", equals="1"), FAILED,
         "the output has 2 at $[*].n, not 1"),
        ("echo '[]'", Expect(json="$[*].n", equals="1"), FAILED, "the output has nothing at $[*].n"),
        ("echo '{\"v\": \"1.2\"}'", Expect(json="$.v", matches=r"^\d+\.\d+$"), PASSED, ""),
        ("echo '{\"ok\": false, \"ok\": true}'", Expect(json="$.ok", equals="true"), FAILED,
         "the output is not JSON: 'ok' is given twice in one object"),
        ("echo NaN", Expect(json="$", equals="1"), FAILED,
         "the output is not JSON: NaN is not a number that JSON knows"),
        ("printf '\\377'", Expect(json="$", equals="1"), FAILED, "the output is not UTF-8: byte 0xff at 0"),
        ("head -c 200000 /dev/zero | tr '\\0' '['", Expect(json="$", equals="1"), FAILED,
         "the output is too large or too deep to be weighed"),
        ("echo x", Expect(regex="(x"), INFRA,
         "/(x/ is no regular expression: missing ), unterminated subpattern at position 0"),
        ("exit 3", Expect(text="x"), FAILED, "exit code 3"),
    ],
)  # fmt: skip
def test_the_output_is_what_it_has_to_be(
    kept: Project, script: str, expect: Expect, verdict: Verdict, reason: str
) -> None:
    assert said(kept.judge(sh(script, expect=expect))) == (verdict, reason or "exit code 0")


@pytest.mark.parametrize(
    ("script", "artifact", "verdict", "reason"),
    [
        ("mkdir out; echo x > out/a", Artifact(path="out/a", matches="^x$", text="x"), PASSED, ""),
        ("true", Artifact(path="out/a"), FAILED, "out/a is not there"),
        (": > a", Artifact(path="a"), FAILED, "a is empty"),
        ("echo x > a", Artifact(path="a", text="y"), FAILED, "a does not hold 'y'"),
        ("echo x > a", Artifact(path="a", equals="golden.txt"), FAILED, "a is not golden.txt"),
        ("printf 'one\\ntwo\\n' > a", Artifact(path="a", equals="golden.txt"), PASSED, ""),
        ("printf 'one\\ntwo\\n' > a", Artifact(path="a", differs="golden.txt"), FAILED, "a is still golden.txt"),
        ("mkfifo a", Artifact(path="a"), FAILED, "a is no regular file"),
        ("mkdir a", Artifact(path="a"), FAILED, "a is no regular file"),
        ("ln -s golden.txt a", Artifact(path="a"), FAILED, "a is a link, or behind one"),
        ("ln -s /etc d", Artifact(path="d/passwd"), FAILED, "d/passwd is a link, or behind one"),
        ("truncate -s 1G a", Artifact(path="a", text="x"), FAILED, "a is larger than 8M"),
        ("echo x > a", Artifact(path="a", equals="link.txt"), INFRA,
         "artifact.equals: link.txt is a link; name the file that it leads to"),
        ("mkdir new; echo x > a", Artifact(path="a", differs="new"), INFRA,
         "artifact.differs: new is a folder; name a file in it"),
        ("echo x > a", Artifact(path="a", differs="gone"), INFRA,
         "artifact.differs: gone was not there when the checks were frozen; put it there, and under state.protect"),
    ],
)  # fmt: skip
def test_an_artifact_is_what_it_has_to_be(
    kept: Project, script: str, artifact: Artifact, verdict: Verdict, reason: str
) -> None:
    assert said(kept.judge(sh(script, artifact=artifact))) == (verdict, reason or "exit code 0")


@pytest.mark.parametrize(
    ("script", "schema", "verdict", "reason"),
    [
        ("echo '{\"a\": 3}' > o", Schema(schema="object.json", file="o"), PASSED, ""),
        ("echo '{\"a\": \"x\"}'", Schema(schema="object.json", output=True), FAILED,
         "the output is not as object.json says: $.a: 'x' is not of type 'integer'"),
        ("true", Schema(schema="object.json", file="o"), FAILED, "o is not there"),
        ("echo 1", Schema(schema="list.json", output=True), INFRA, "list.json is no JSON Schema"),
        ("echo 1", Schema(schema="golden.txt", output=True), INFRA,
         "golden.txt is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("echo 1", Schema(schema="odd.json", output=True), INFRA,
         "odd.json is no JSON Schema: $.type: 3 is not valid under any of the given schemas"),
        ("echo 1", Schema(schema="dialect.json", output=True), INFRA,
         "dialect.json is no JSON Schema of a kind that is known: https://example.com/own"),
        ("echo 1", Schema(schema="remote.json", output=True), INFRA,
         "remote.json refers to https://example.com/x.json, which is not there; nothing is fetched"),
        ("echo 1", Schema(schema="latin.json", output=True), INFRA,
         "schema.schema: latin.json is not UTF-8: byte 0xe9 at 11"),
        ("echo 1", Schema(schema="huge.json", output=True), INFRA, "schema.schema: huge.json is larger than 8M"),
    ],
)  # fmt: skip
def test_json_is_as_its_schema_says_and_a_schema_that_is_none_passes_nothing(
    kept: Project, script: str, schema: Schema, verdict: Verdict, reason: str
) -> None:
    assert said(kept.judge(sh(script, schema=schema))) == (verdict, reason or "exit code 0")


def test_an_expression_that_explodes_is_a_timeout(kept: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    regex = sh(f"echo {'a' * 40}!", expect=Expect(regex="^(a+)+$"))
    schema = sh(f"echo '\"{'a' * 40}!\"'", schema=Schema(schema="slow.json", output=True))
    monkeypatch.setattr(rules, "SECONDS", 0.6)
    assert said(kept.judge(regex)) == (TIMEOUT, "weighing it (regex) came to no end in 0.6 s")
    assert said(kept.judge(schema)) == (TIMEOUT, "weighing it (schema) came to no end in 0.6 s")


def page(how: str, **asked: object) -> CheckFact:
    run = (sys.executable, "served.py", how, "8000")
    return CheckFact(page=Page(run=run, url="http://127.0.0.1:8000/x?y=1", **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "verdict", "reason"),
    [
        (page("works", text="Hello", matches="<h1>.*</h1>"), PASSED, "all that it asks for holds"),
        (page("works", text="Bye"), FAILED, "http://127.0.0.1:8000/x?y=1 does not hold 'Bye'"),
        (page("redirects"), FAILED,
         "http://127.0.0.1:8000/x?y=1 answers with status 302, which leads to http://elsewhere.example/, not 200"),
        (page("dies"), FAILED, "the server ended with exit code 3 before 127.0.0.1:8000 answered"),
        (page("never listens", within=0.5), FAILED, "nothing listens on 127.0.0.1:8000 in 0.5 s"),
        (page("drips", within=1.5), FAILED, "127.0.0.1:8000 gives no whole answer in 1.5 s"),
        (page("breaks off", within=5.0), FAILED, "127.0.0.1:8000 broke its answer off"),
        (page("endless"), FAILED, "http://127.0.0.1:8000/x?y=1 is larger than 8M"),
        (page("talks"), FAILED, "127.0.0.1:8000 gives no answer of HTTP: BadStatusLine"),
        (CheckFact(page=Page(run=("no-such-server",), url="http://localhost:1/")), INFRA,
         "no-such-server cannot be started: no such file or directory"),
    ],
)  # fmt: skip
def test_a_page_renders_or_it_is_said_why_not(kept: Project, check: CheckFact, verdict: Verdict, reason: str) -> None:
    assert said(kept.judge(check)) == (verdict, reason)


@pytest.mark.parametrize(
    ("browser", "asked", "verdict", "reason"),
    [
        ("shows", {"matches": r"<h1>Shown --headless .*--user-data-dir=/tmp/\w+ --virtual-time-budget=5000 --dump-dom "
         r"http://127.0.0.1:8000/x\?y=1</h1>"}, PASSED, "all that it asks for holds"),
        ("shows", {"matches": "Unseen"}, FAILED, "http://127.0.0.1:8000/x?y=1 in ./shows does not match /Unseen/"),
        ("crashes", {}, FAILED, "./crashes ended with signal 11 and made no document of the page"),
        ("spins", {"within": 1.5}, FAILED, "./spins comes to no end with the page in 1.5 s"),
        ("floods", {}, FAILED, "http://127.0.0.1:8000/x?y=1 in ./floods is larger than 8M"),
        ("is not there", {}, INFRA, "./is not there cannot be started: no such file or directory; install it, or name "
         "one by its path"),
        ("broken", {}, INFRA, "./broken cannot even show a plain page: libx.so: cannot open shared object file; name "
         "one that runs in the sandbox"),
        ("stuck", {"within": 1.5}, INFRA, "./stuck cannot even show a plain page: it comes to no end in 1.5 s; name "
         "one that runs in the sandbox"),
    ],
)  # fmt: skip
def test_a_browser_shows_a_page_or_it_is_said_whether_it_was_the_page(
    kept: Project, browser: str, asked: dict[str, Any], verdict: Verdict, reason: str
) -> None:
    check = page("works", browser=f"./{browser}", **{"text": "Shown", **asked})
    assert said(kept.judge(check)) == (verdict, reason)


BROWSER = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")), "")
SCRIPTS = {"throws": "throw 'Away'; ", "never ends": "for (;;); ", "runs": ""}


@pytest.mark.skipif(not BROWSER, reason="no browser of the Chromium family on PATH")
@pytest.mark.parametrize("how", SCRIPTS)
def test_what_scripts_make_of_a_page_is_there_in_a_real_browser_alone(project: Project, how: str) -> None:
    script = f"setTimeout(() => {{ {SCRIPTS[how]}document.body.append('Made' + ' here') }}, 2000)"
    project.write("index.html", f"<!doctype html><title>Bare</title><body><script>{script}</script></body>")
    serve = Page(run=(sys.executable, "-m", "http.server", "8000"), url="http://127.0.0.1:8000/", text="Made here")
    shown = replace(serve, browser=BROWSER, within=6.0 if how == "never ends" else 30.0)
    told = said(project.judge(CheckFact(page=shown)))
    if how == "runs":
        assert told == (PASSED, "all that it asks for holds")
        assert said(project.judge(CheckFact(page=serve))) == (FAILED, f"{serve.url} does not hold 'Made here'")
    else:
        bare = f"{serve.url} in {BROWSER} does not hold 'Made here'"
        assert told == (FAILED, bare if how == "throws" else f"{BROWSER} comes to no end with the page in 6 s")


def test_all_that_a_check_asks_for_has_to_hold(kept: Project) -> None:
    shown = page("works").page
    check = sh("echo '{\"a\": 1}' | tee out.json", artifact=Artifact(path="out.json"), page=shown, expect="a",
               schema=Schema(schema="object.json", file="out.json"))  # fmt: skip
    judgement = kept.judge(check)
    assert (judgement.verdict, judgement.reason) == (PASSED, "exit code 0")
    assert "GET /x?y=1" in Path(judgement.log).read_text()
    assert judgement.seconds > judgement.results[0].seconds / 2
    bad = CheckFact(artifact=Artifact(path="gone"), optional=True)
    assert [result.verdict for result in kept.judge(check, bad).results] == [PASSED, FAILED]
    assert kept.judge(CheckFact(artifact=Artifact(path="gone"))).check == "artifact gone"


def test_without_walls_a_page_is_not_visited_and_files_are(kept: Project) -> None:
    def without(check: CheckFact) -> Judgement:
        commit, policy = kept.copies.snapshot(kept.workspace), Policy(workspace=kept.workspace)
        out = kept.out / f"none-{kept.copies.count}"
        return judge(commit, kept.frozen, [check], store=kept.copies, backend=choose("none"), policy=policy, out=out)

    assert said(without(page("works"))) == (INFRA, "a page needs a network of its own, which only bwrap gives")
    assert said(without(sh("ln -s served.py a", artifact=Artifact(path="a")))) == (FAILED, "a is a link, or behind one")


def test_a_script_behind_a_link_is_no_check_unless_what_it_leads_to_is_frozen(project: Project) -> None:
    for name in ("real.sh", "tools/deep.sh"):
        project.write(name, "#!/bin/sh\nexit 0\n", 0o755)
    links = {"check.sh": "real.sh", "away.sh": str(project.workspace / "real.sh"), "lib": "tools", "loop.sh": "loop.sh"}
    for name, target in links.items():
        (project.workspace / name).symlink_to(target)
    runs = [("./check.sh",), ("./away.sh",), ("sh", "lib/deep.sh")]
    project.freeze(checks=runs)
    told = [said(project.judge(run)) for run in runs]
    ways = (("check.sh", "real.sh"), ("away.sh", "real.sh"), ("lib/deep.sh", "tools/deep.sh"))
    assert told == [(INFRA, f"{a} leads to {b}, which is not frozen; put that under state.protect") for a, b in ways]
    assert project.judge(("sh", "loop.sh")).verdict is FAILED
    project.freeze("real.sh", "tools", checks=runs)
    assert {project.judge(run).verdict for run in runs} == {PASSED}


@pytest.mark.parametrize(
    "bomb", ["b() { b | b & }; b", "b() { b | b & }; b; wait"], ids=["and is done at once", "and waits"]
)
def test_a_check_that_forks_without_end_never_passes(project: Project, bomb: str) -> None:
    backend, policy = choose("bwrap"), Policy(workspace=project.workspace, limits=Limits(processes=100))
    if not backend.selftest(policy).held:
        pytest.skip("nothing binds the number of processes here")
    judgement = judge(
        project.copies.snapshot(project.workspace),
        project.frozen,
        [CheckFact(run=("sh", "-c", bomb), timeout=5)],
        store=project.copies,
        backend=backend,
        policy=policy,
        out=project.out,
    )
    assert judgement.verdict in (INFRA, FAILED, TIMEOUT), judgement


def test_what_a_check_leaves_running_does_not_hold_it_up(project: Project) -> None:
    judgement = project.judge(["sh", "-c", "sleep 1000 & exit 0"], timeout=900)
    assert judgement.verdict is PASSED


def test_what_cannot_be_compared_with_is_told_before_anything_runs(kept: Project, tmp_path: Path) -> None:
    os.symlink("x", tmp_path / "golden.txt")
    (tmp_path / "odd.json").write_text('{"type": 3}')
    (tmp_path / "good.json").write_text('{"type": "object"}')
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    checks = [
        sh("x", expect=Expect(golden="golden.txt")),
        sh("x", artifact=Artifact(path="a", equals="gone.txt")),
        sh("x", schema=Schema(schema="odd.json", output=True)),
        sh("x", schema=Schema(schema="good.json", output=True)),
        sh("x", schema=Schema(schema="latin.json", output=True)),
    ]
    assert [line for check in checks for line in rules.unusable(check, tmp_path)] == [
        "expect.golden: golden.txt is a link, or behind one",
        "artifact.equals: gone.txt is not there",
        "schema.schema: odd.json is no JSON Schema: $.type: 3 is not valid under any of the given schemas",
        "schema.schema: latin.json is not UTF-8: byte 0xe9 at 1",
    ]
