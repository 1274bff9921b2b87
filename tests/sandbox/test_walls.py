from __future__ import annotations

import contextlib
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.errors import Unrecoverable, UsageError
from proctor.sandbox import host
from proctor.sandbox.bwrap import Bubblewrap
from proctor.sandbox.policy import DOOR, Limits, Policy
from proctor.sandbox.running import Backend

from .conftest import Shell, tree

MIB = 1 << 20


def test_the_workspace_is_writable_where_it_lies(shell: Shell, workspace: Path) -> None:
    assert shell("pwd && echo new > src/new.py && rm src/app.py") == (0, f"{workspace}\n")
    assert (workspace / "src/new.py").read_text() == "new\n"
    assert not (workspace / "src/app.py").exists()


def test_the_workspace_is_writable_below_the_home(shell: Shell, home: Path) -> None:
    project = home / "work" / "project"
    project.mkdir(parents=True)
    (home / "work" / "other").mkdir()
    code, said = shell("echo x > new; ls -A .. $HOME; cat $HOME/.ssh/id", workspace=project)
    assert code == 1
    assert (project / "new").exists()
    assert "other" not in said
    assert "SECRET" not in said


def test_home_and_temporary_folders_are_scratch(shell: Shell, home: Path, tmp_path: Path) -> None:
    before = tree(home)
    code, said = shell("echo $HOME $TMPDIR; ls -A $HOME; touch $HOME/a $TMPDIR/a /var/tmp/a /dev/shm/a")
    assert (code, said) == (0, f"{home} /tmp\n")
    assert tree(home) == before


def test_what_is_not_the_system_does_not_exist(shell: Shell, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "neighbour").write_text("SECRET")
    code, said = shell(f"ls -A {tmp_path} {workspace.parent} /home /mnt /media /srv /run; ls -A /")
    assert code == 0
    assert "neighbour" not in said
    top = set(said.split("/run:")[-1].split())
    assert not top & {"mnt", "media", "srv", "boot", "lost+found"}


def test_nothing_but_workspace_and_scratch_can_be_written(shell: Shell, workspace: Path) -> None:
    code, said = shell(
        """
        for place in / /etc /usr /usr/bin /opt /run /dev /proc /sys/devices/system/cpu /var /var/lib; do
            touch $place/mark 2>/dev/null && echo $place
        done
        find /proc/sys /proc/[a-z]* -maxdepth 6 -type f -writable 2>/dev/null |
            grep -v -E "^/proc/(self|thread-self)/" | head
        true
        """
    )
    assert (code, said) == (0, "")


def test_files_only_root_may_read_are_closed_to_root_too(shell: Shell) -> None:
    assert shell("cat /etc/shadow 2>/dev/null; echo $?") == (0, "1\n")


def test_another_home_of_the_operator_cannot_be_listed(shell: Shell, home: Path) -> None:
    account = host.view().homes
    others = [str(place) for place in account if place != home]
    assert others
    assert shell(f"ls {' '.join(others)} 2>/dev/null; echo $?")[1] == "2\n"


def test_protected_paths_can_be_read_and_not_changed(shell: Shell, workspace: Path) -> None:
    before = tree(workspace)
    code, said = shell(
        """
        cat tests/check.py deep/a/oracle/check.py
        for path in tests/check.py deep/a/oracle/check.py; do
            echo x >> $path; rm -f $path; mv $path $path.old; chmod 777 $path
        done 2>/dev/null
        for path in tests deep deep/a deep/a/oracle; do
            mv $path moved 2>/dev/null && echo moved $path
            rm -rf $path 2>/dev/null && echo removed $path
        done
        ln -s /tmp tests/link 2>/dev/null && echo linked
        true
        """
    )
    assert (code, said) == (0, "tests/check.py\ndeep/a/oracle/check.py\n")
    assert tree(workspace) == before


def test_files_beside_a_protected_path_stay_writable(shell: Shell, workspace: Path) -> None:
    assert shell("echo x > deep/a/beside && mkdir deep/b && mv deep/a/beside deep/b/") == (0, "")
    assert (workspace / "deep/b/beside").exists()


def test_aliases_of_a_protected_path_are_as_closed(shell: Shell, workspace: Path) -> None:
    code, said = shell(
        """
        for path in /proc/self/root$PWD /proc/self/cwd src/.. /proc/1/root$PWD; do
            (echo x >> $path/tests/check.py) 2>/dev/null && echo $path
        done
        ln tests/check.py hard 2>/dev/null && echo hard
        true
        """
    )
    assert (code, said) == (0, "")


def test_our_own_folder_is_empty_and_read_only(shell: Shell, workspace: Path) -> None:
    assert shell("ls -A .proctor; touch .proctor/x 2>/dev/null || mv .proctor y 2>/dev/null || echo closed") == (
        0,
        "closed\n",
    )
    assert (workspace / ".proctor/journal.db").exists()


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_repository_is_read_only(shell: Shell, workspace: Path, kind: str) -> None:
    if kind == "file":
        (workspace / ".git/config").unlink()
        (workspace / ".git").rmdir()
        (workspace / ".git").write_text("gitdir: ../elsewhere")
    before = tree(workspace)
    target = ".git/config" if kind == "folder" else ".git"
    code, said = shell(
        f"cat {target} >/dev/null && (echo x > {target} || mv .git y || rm -rf .git) 2>/dev/null; echo $?"
    )
    assert (code, said) == (0, "1\n")
    assert tree(workspace) == before


def test_hidden_paths_cannot_be_read(shell: Shell, workspace: Path) -> None:
    (workspace / "token").write_text("SECRET")
    code, said = shell("ls -A secrets; cat token; echo $?", hide=("secrets/", "token"))
    assert code == 0
    assert "key" not in said
    assert "SECRET" not in said
    assert said.endswith("1\n")


def test_absent_paths_stay_absent_and_nothing_is_left_behind(shell: Shell, workspace: Path) -> None:
    before = tree(workspace)
    assert shell("ls", protect=("absent", "no/such"), hide=("nothing",))[0] == 0
    assert tree(workspace) == before


@pytest.mark.parametrize("path", ["link", "folder/link", "link/below"])
@pytest.mark.parametrize("kind", ["protect", "hide"])
def test_a_link_on_the_way_to_a_protected_path_is_refused(
    bwrap: Backend, policy: Policy, workspace: Path, tmp_path: Path, path: str, kind: str
) -> None:
    (tmp_path / "elsewhere" / "below").mkdir(parents=True)
    link = workspace / path.removesuffix("/below")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unrecoverable, match="'link' is a symbolic link") as refusal:
        bwrap.launch(["true"], replace(policy, **{kind: (path,)}))  # type: ignore[arg-type]
    assert refusal.value.word == "sandbox"


def test_a_planted_link_does_not_lead_a_mount_out_onto_the_host(
    bwrap: Backend, policy: Policy, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    before = sorted(os.listdir(outside))
    (workspace / "planted").symlink_to(f"/oldroot{outside}")
    for change in (
        {"protect": ("planted/made",)},
        {"readonly": ((Path("/etc/hostname"), workspace / "planted/made"),)},
    ):
        with pytest.raises(Unrecoverable):
            bwrap.launch(["true"], replace(policy, **change))  # type: ignore[arg-type]
    assert sorted(os.listdir(outside)) == before


@pytest.mark.parametrize("path", ["/etc", "../outside", "a/../../b", "."])
def test_paths_that_lead_out_of_the_workspace_are_refused(bwrap: Backend, policy: Policy, path: str) -> None:
    with pytest.raises(UsageError, match="not a path inside the workspace"):
        bwrap.launch(["true"], replace(policy, protect=(path,)))


def test_a_copy_stands_at_the_workspace_s_path(shell: Shell, workspace: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "only-here").touch()
    before = tree(workspace)
    tools = workspace / "node_modules"
    tools.mkdir()
    (tools / "tool").touch()
    code, said = shell(
        "pwd; ls; ls node_modules; touch made; touch node_modules/x", source=copy, readonly=((tools, tools),)
    )
    assert code == 1
    assert said.startswith(f"{workspace}\nnode_modules\nonly-here\ntool\n")
    assert sorted(os.listdir(copy)) == ["made", "node_modules", "only-here"]
    assert {name for name in tree(workspace) if "node_modules" not in name} == set(before)


def test_a_mount_point_in_the_workspace_itself_is_never_made(bwrap: Backend, policy: Policy, workspace: Path) -> None:
    with pytest.raises(UsageError, match="nothing is there to bind over"):
        bwrap.launch(["true"], replace(policy, readonly=((Path("/etc"), workspace / "etc"),)))
    assert not (workspace / "etc").exists()


def test_what_cannot_be_shown_is_named(bwrap: Backend, policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    for source, reason in ((tmp_path / "link", "symbolic link"), (tmp_path / "nothing", "No such file")):
        with pytest.raises(Unrecoverable, match=reason):
            bwrap.launch(["true"], replace(policy, readonly=((source, Path("/shown")),)))


def test_no_argument_of_bubblewrap_can_be_smuggled_in(bwrap: Backend, policy: Policy) -> None:
    with pytest.raises(UsageError, match="NUL"):
        bwrap.launch(["true"], replace(policy, environment={"A": "1\0--bind\0/\0/"}))


def test_a_read_only_workspace(shell: Shell, workspace: Path) -> None:
    assert shell("cat src/app.py; ls -A secrets; touch x 2>/dev/null; echo $?", writable=False) == (
        0,
        "src/app.py\n1\n",
    )


def test_the_interpreter_in_use_works_and_cannot_be_written(shell: Shell) -> None:
    script = "import sys, json; print(open(sys.prefix + '/mark', 'w'))"
    code, said = shell(f'{sys.executable} -I -c "{script}"')
    assert code == 1
    assert "Read-only file system" in said


def test_an_interpreter_inside_the_workspace_is_read_only(
    shell: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = workspace / "tools" / ".venv"
    (environment / "bin").mkdir(parents=True)
    monkeypatch.setattr(host, "own", lambda: frozenset({environment}))
    assert shell("ls tools/.venv; touch tools/.venv/x || mv tools other || echo kept", protect=())[1].endswith("kept\n")
    copy = workspace.parent / "copy"
    copy.mkdir()
    assert shell("ls tools/.venv", source=copy) == (0, "bin\n")


def test_only_what_was_given_is_in_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "SECRET")
    monkeypatch.setenv("PATH", os.environ["PATH"] + ":relative")
    code, said = shell("env", environment={"GIVEN": "1"})
    variables = dict(line.split("=", 1) for line in said.splitlines())
    assert code == 0
    assert variables["GIVEN"] == "1"
    assert "relative" not in variables["PATH"]
    known = host.VARIABLES | {"PATH", "HOME", "TMPDIR", "GIT_CONFIG_NOSYSTEM", "GIVEN", "PWD", "OLDPWD", "_", "SHLVL"}
    assert {name for name in variables if not name.startswith("LC_")} <= known


def test_no_descriptor_and_no_argument_of_ours_gets_inside(shell: Shell, tmp_path: Path) -> None:
    leak = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        code, said = shell("ls /proc/self/fd; ls -A /proc/1; cat /proc/[0-9]*/cmdline")
    finally:
        os.close(leak)
    assert code == 0
    assert said.split()[:4] == ["0", "1", "2", "3"]  # the last is that of `ls` itself
    assert str(tmp_path) not in said


def test_there_are_no_other_processes_no_capabilities_and_no_way_to_new_ones(shell: Shell) -> None:
    _, said = shell(
        """
        ls /proc | grep -c -E '^[0-9]+$'
        grep -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs)' /proc/self/status | tr -d '\\t'
        unshare -U true 2>/dev/null && echo made
        hostname
        """
    )
    lines = said.splitlines()
    assert int(lines[0]) <= 5
    assert lines[1:] == [
        *(f"{name}:0000000000000000" for name in ("CapPrm", "CapEff", "CapBnd")),
        "NoNewPrivs:1",
        "localhost",
    ]


def test_there_is_no_network_but_loopback(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code, said = shell(
            f"""
            tail -n +3 /proc/net/dev | cut -d: -f1
            {sys.executable} -I -S -c '
            import socket
            try: socket.create_connection(("127.0.0.1", {port}), 2)
            except ConnectionRefusedError: print("refused")
            try: socket.create_connection(("192.0.2.1", 80), 2)
            except OSError as error: print(error.strerror)'
            """.replace("            ", "")
        )
    assert (code, said.split()) == (0, ["lo", "refused", "Network", "is", "unreachable"])


def test_the_listener_inside_is_served_from_outside(bwrap: Backend, policy: Policy) -> None:
    script = "import socket; print(socket.create_connection(('127.0.0.1', 8377)).recv(9).decode())"
    with bwrap.launch([sys.executable, "-I", "-S", "-c", script], replace(policy, listen=True), stdout=-1) as running:
        assert running.listener is not None
        connection, _ = running.listener.accept()
        with connection:
            connection.send(b"from out")
        assert running.stdout is not None
        assert running.stdout.read() == b"from out\n"
        assert running.wait(PATIENCE).code == 0


def test_the_door_can_be_used_and_not_changed(shell: Shell, tmp_path: Path) -> None:
    door = tmp_path / "door"
    door.mkdir()
    (door / "brief.md").write_text("do it")
    os.mkfifo(door / "answers")
    answers = os.open(door / "answers", os.O_RDWR | os.O_NONBLOCK)
    os.write(answers, b"yes\n")
    code, said = shell(
        f"cat {DOOR}/brief.md; head -n 1 {DOOR}/answers; rm -f {DOOR}/brief.md; mv {DOOR}/answers {DOOR}/x",
        door=door,
    )
    os.close(answers)
    assert code != 0
    assert said.startswith("do ityes\n")
    assert sorted(os.listdir(door)) == ["answers", "brief.md"]


def test_limits_bind_inside(shell: Shell) -> None:
    limits = Limits(memory=256 * MIB, processes=77, file_size=MIB, open_files=99, scratch=2 * MIB)
    script = (
        "import resource as r; print(*(r.getrlimit(n)[1] for n in (r.RLIMIT_NPROC, r.RLIMIT_NOFILE, r.RLIMIT_CORE)))"
    )
    code, said = shell(
        f"""
        {sys.executable} -I -S -c '{script}'
        {sys.executable} -I -S -c 'len(bytearray(300 << 20))' 2>&1 | tail -n 1
        head -c 2M /dev/zero > big 2>/dev/null || wc -c < big
        for name in a b c; do head -c 1M /dev/zero > /tmp/$name 2>/dev/null || echo full; done
        """,
        limits=limits,
    )
    assert (code, said.split()) == (0, ["77", "99", "1", "MemoryError", str(MIB), "full"])


def test_workspaces_that_cannot_be_walled_in_are_refused(bwrap: Backend, home: Path, tmp_path: Path) -> None:
    for place, reason in (
        (home, "holds your home"),
        (home.parent, "holds your home"),
        (Path("/usr"), "folder of the system"),
        (Path("/"), "home"),
        (Path(sys.prefix), "what this program runs from"),
        (host.PACKAGE / "sandbox", "what this program runs from"),
        (tmp_path / "nowhere", "not a folder"),
    ):
        with pytest.raises(UsageError, match=reason):
            bwrap.launch(["true"], Policy(place))


def test_the_selftest_passes_here_and_names_what_is_wrong_elsewhere(bwrap: Backend, policy: Policy) -> None:
    bwrap.selftest(policy)
    for broken in (bwrap, Bubblewrap(Path("/bin/false"), ""), Bubblewrap(Path("/no/bwrap"), "")):
        with pytest.raises(Unrecoverable, match="the sandbox was refused") as refusal:
            broken.selftest(replace(policy, chdir=Path("/nowhere"), listen=True))
        assert "\n" not in str(refusal.value)


def test_a_bwrap_that_is_gone_is_refused(policy: Policy) -> None:
    with pytest.raises(Unrecoverable, match="the sandbox was refused"):
        Bubblewrap(Path("/no/bwrap"), "").launch(["true"], policy)


def test_a_sandbox_that_fails_while_it_is_built_runs_nothing(bwrap: Backend, policy: Policy) -> None:
    impossible = replace(policy, readonly=((Path("/etc"), Path("/usr/no/where")),), listen=True)
    for _ in range(5):  # it may fail before or after it was let go
        with contextlib.suppress(Unrecoverable), bwrap.launch(["touch", "made"], impossible) as running:
            assert not running.wait(PATIENCE).ran
    assert not (policy.workspace / "made").exists()
