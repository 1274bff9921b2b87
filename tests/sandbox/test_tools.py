"""Tools of many kinds work inside as they do outside."""

from __future__ import annotations

import shutil
import sys
import tarfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Shell

PYTHON = f"{sys.executable} -I -S"

NODE = """
const http = require('http'), fs = require('fs/promises'), os = require('os'), path = require('path')
const { Worker, isMainThread, parentPort } = require('worker_threads')
const { execFile, fork } = require('child_process')
if (process.argv[2] === 'child') { process.send('forked'); process.disconnect() }
else if (!isMainThread) parentPort.postMessage(6 * 7)
else (async () => {
    const inThread = await new Promise((yes, no) => new Worker(__filename).once('message', yes).once('error', no))
    const inChild = await new Promise((yes, no) => execFile('echo', ['child'], (e, out) => e ? no(e) : yes(out.trim())))
    const forked = await new Promise(yes => fork(__filename, ['child']).once('message', yes))
    const got = []
    for (const place of [{ port: 0, host: '127.0.0.1' }, { path: path.join(os.tmpdir(), 'own.sock') }]) {
        const server = http.createServer((_, answer) => answer.end('served'))
        await new Promise(yes => server.listen(place, yes))
        const where = place.path ? { socketPath: place.path } : { port: server.address().port, host: '127.0.0.1' }
        got.push(await new Promise((yes, no) => http.get(where, answer =>
            answer.setEncoding('utf8').on('data', yes)).on('error', no)))
        server.close()
    }
    await fs.writeFile('made', 'content')
    const files = await Promise.all(Array.from({ length: 50 }, () => fs.readFile('made', 'utf8')))
    console.log(inThread, inChild, forked, got.join(), new Set(files).size, Object.keys(os.networkInterfaces()).join())
})()
"""

MULTIPROCESSING = """
import asyncio, multiprocessing as mp, os, socket, sys, tempfile, threading

def double(number):
    return 2 * number

async def children():
    many = [await asyncio.create_subprocess_exec("echo", str(n), stdout=asyncio.subprocess.PIPE) for n in range(4)]
    return [int((await one.communicate())[0]) for one in many]

async def own_socket(path):
    async def serve(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()
    async with await asyncio.start_unix_server(serve, path):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"said\\n")
        return (await reader.read()).decode().strip()

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = mp.get_context(method)
        with context.Pool(2) as pool, context.Manager() as manager:
            shared = manager.dict(pool.map(double, [1, 2]) and {"a": 1})
            queue, event, lock = context.Queue(), context.Event(), context.Lock()
            queue.put(shared["a"])
            print(method, pool.map(double, range(3)), queue.get())
    threads = [threading.Thread(target=double, args=(n,)) for n in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(asyncio.run(children()), asyncio.run(own_socket(os.path.join(tempfile.gettempdir(), "own"))))
"""

PTRACE = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
TRACEME, PEEKDATA, POKEDATA, CONT = 0, 2, 5, 7
libc.ptrace.restype = ctypes.c_long
value = ctypes.c_long(41)
child = os.fork()
if child == 0:
    assert libc.ptrace(TRACEME, 0, None, None) == 0
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(value.value)
assert os.WIFSTOPPED(os.waitpid(child, 0)[1])
place = ctypes.c_void_p(ctypes.addressof(value))
assert libc.ptrace(PEEKDATA, child, place, None) == 41
assert libc.ptrace(POKEDATA, child, place, ctypes.c_long(42)) == 0
assert libc.ptrace(CONT, child, None, None) == 0
print(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
"""

C = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *twice(void *number) { *(int *)number *= 2; return 0; }
int main(void) {
    int number = 21, status;
    pthread_t thread;
    if (pthread_create(&thread, 0, twice, &number) || pthread_join(thread, 0)) return 1;
    pid_t child = vfork();
    if (!child) _exit(number);
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}
"""


@pytest.fixture
def tool(workspace: Path) -> Callable[..., None]:
    """Skips where a tool is missing; writes files into the workspace."""

    def go(name: str, **files: str) -> None:
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
        for path, text in files.items():
            (workspace / path.replace("_", ".")).write_text(textwrap.dedent(text))

    return go


def test_node_with_servers_threads_and_children(shell: Shell, tool: Callable[..., None]) -> None:
    tool("node", main_js=NODE)
    assert shell("node main.js") == (0, "42 child forked served,served 1 lo\n")


def test_python_with_processes_managers_and_its_own_sockets(shell: Shell, workspace: Path) -> None:
    (workspace / "main.py").write_text(MULTIPROCESSING)
    lines = [f"{method} [0, 2, 4] 1" for method in ("fork", "spawn", "forkserver")]
    assert shell(f"exec {PYTHON} main.py") == (0, "\n".join([*lines, "[0, 1, 2, 3] SAID", ""]))


def test_a_program_may_trace_its_own_child(shell: Shell, workspace: Path, tool: Callable[..., None]) -> None:
    (workspace / "main.py").write_text(PTRACE)
    assert shell(f"exec {PYTHON} main.py") == (0, "42\n")
    tool("strace")
    code, said = shell("strace -f -e trace=execve sh -c 'true; /bin/echo traced' 2>&1")
    assert code == 0
    assert said.count("execve(") == 2


def test_a_compiler_and_what_it_made(shell: Shell, tool: Callable[..., None]) -> None:
    tool("gcc", main_c=C)
    assert shell("gcc -O1 -pthread -o main main.c && ./main") == (0, "42\n")


def test_make_in_parallel(shell: Shell, tool: Callable[..., None]) -> None:
    tool("make", Makefile="all: a b c d\na b c d:\n\t@sleep 0.01; echo $@ > $@.made\n")
    assert shell("make -s -j4 && cat *.made | sort | tr -d '\\n'") == (0, "abcd")


def test_git_clones_commits_and_packs(shell: Shell, tool: Callable[..., None]) -> None:
    tool("git")
    code, said = shell(
        """
        cd $TMPDIR && git init -q one && cd one && git config user.name a && git config user.email a@b
        for n in 1 2 3; do echo $n > file; git add -A; git commit -qm $n; done
        git gc -q && git clone -q . ../two && git -C ../two log --format=%s | tr -d '\\n'
        """
    )
    assert (code, said) == (0, "321")


def test_archives_copies_and_installs_keep_their_modes(shell: Shell, tool: Callable[..., None]) -> None:
    tool("tar")
    code, said = shell(
        """
        umask 022 && mkdir one && echo echo run > one/run && chmod 755 one/run && echo text > one/text
        chmod 1777 one && ln -s text one/link && mkfifo -m 600 one/pipe && mknod one/other p
        tar -cpf one.tar one && mkdir two && tar -C two -xpf one.tar && cp -a two/one three
        install -m 755 one/run four && install -d -m 700 five && ./four && stat -c '%a %F' three three/* four five
        """
    )
    kinds = ["1777 directory", "777 symbolic link", "644 fifo", "600 fifo", "755 regular file", "644 regular file"]
    assert (code, said.splitlines()) == (0, ["run", *kinds, "755 regular file", "700 directory"])


def test_a_file_cannot_be_made_to_run_with_its_owner_s_rights(
    shell: Shell, workspace: Path, tool: Callable[..., None]
) -> None:
    tool("tar")
    with tarfile.open(workspace / "one.tar", "w") as archive:
        entry = tarfile.TarInfo("unpacked")
        entry.mode = 0o6755
        archive.addfile(entry)
    code, said = shell(
        """
        touch a && chmod u+s a; chmod g+s a; chmod 2755 .; install -m 4755 a b; mkdir -m 2755 d
        tar -xpf one.tar; true
        """
    )
    assert code == 0
    assert said.count("Operation not permitted") == 6
    assert [path.name for path in (workspace, *workspace.rglob("*")) if path.lstat().st_mode & 0o6000] == []


def test_a_script_by_npm(shell: Shell, tool: Callable[..., None]) -> None:
    tool("npm", package_json='{"name": "one", "version": "1.0.0", "scripts": {"say": "node -p 6*7"}}')
    assert shell("npm run --silent --offline say") == (0, "42\n")


def test_pytest_in_two_processes(shell: Shell, workspace: Path) -> None:
    pytest.importorskip("xdist")
    (workspace / "test_it.py").write_text("def test_a(tmp_path): assert tmp_path\ndef test_b(): assert True\n")
    code, said = shell(f"{sys.executable} -m pytest -q -n 2 -p no:cacheprovider test_it.py")
    assert code == 0, said
    assert "2 passed" in said


@pytest.mark.parametrize("shared", [False, True])
def test_a_folder_of_a_team_keeps_its_setgid_bit_and_no_program_a_setuid_one(
    shell: Shell, workspace: Path, shared: bool
) -> None:
    if shared:
        workspace.chmod(0o2775)
    code, said = shell("mkdir d; chmod 2775 d 2>/dev/null; echo $?; touch run; chmod 4755 run 2>/dev/null; echo $?")
    assert code == 0
    assert said.split() == ["0" if shared else "1", "1"]
