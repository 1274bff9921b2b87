"""Programs that run other programs: where in their words the other one stands, as far as that is certain."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from proctor.approvals.globs import HOLE
from proctor.approvals.globs import words as named

SHELLS = named("sh bash dash ash ksh mksh rbash zsh fish")
_ALIKE = frozenset({"sh", "bash", "dash", "ash"})
"""Those whose language is read here as they read it."""
ODD = named("""alias bind coproc complete compgen enable fc hash history let mapfile readarray shopt trap unalias""")
"""Builtins that change what later words mean, or run text of their arguments later."""
EVALUATING = named("""declare export getopts local printf read readonly test typeset unset wait [""")
"""Builtins that evaluate an array's index in an argument, and run what stands in it."""
SETTING = named("getopts printf read unset wait")
"""Builtins that set or take away a variable which an argument names."""
FREE = named(""": exit break false return continue true""")
MOVING = frozenset({"cd", "pushd", "popd"})
_CODE = tuple(
    (re.compile(rf"({program})[\d.]*"), re.compile(option, re.DOTALL), re.compile(valued))
    for program, option, valued in (
        ("python[\\d.]*w?|pypy", "-[bBdEhiIOPqsSuvVx]*c.*", "-[A-Za-z]*[WX]|--check-hash-based-pycs"),
        ("perl|ruby", "-[A-Za-z0-9]*[eEMm].*", "-[A-Za-z]*[ICr]"),
        ("node|nodejs|bun|deno|tsx", "-[A-Za-z]*[ep]|--(eval|print|import|(experimental-)?loader).*|eval",
         "-[rC]|--[^=]+"),
        ("php|lua|Rscript|R|osascript|julia|elixir|scala|guile|emacs|vim|vi|nvim|ex",
         r"-[reEcBR].*|--e[vx].*|--run.*|\+.*", "-[A-Za-z]|--[^=]+"),
    )
)  # fmt: skip
"""Programs, the option after which code stands that is not the shell's, and those options that may have a value."""
_NO_CODE = re.compile(r"-V+|-v|-h|-m.+|--?version|--help|--test.*", re.DOTALL)
"""Options with which such a program reads no code from its stdin."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program that runs another is written: options with a value, options without (letters, or whole words), and
    words before the command. `free`: it does nothing but run it. `joined`: its words are joined into a line again.
    """

    valued: str = ""
    flags: str = ""
    words: int = 0
    free: bool = False
    joined: bool = False
    assigns: bool = False


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper("u", "i0v", free=True, assigns=True),
    "nice": Wrapper("n", free=True),
    "nohup": Wrapper(free=True),
    "setsid": Wrapper(flags="cfw", free=True),
    "timeout": Wrapper("ks", "v", words=1, free=True),
    "time": Wrapper(flags="pv", free=True),
    "stdbuf": Wrapper("ioe", free=True),
    "ionice": Wrapper("cn", "t", free=True),
    "command": Wrapper(flags="p", free=True),
    "builtin": Wrapper(free=True),
    "exec": Wrapper(flags="cl", free=True),
    "xargs": Wrapper("IndPLsEa", "0rtpx"),
    "sudo": Wrapper("ugpChrtTDRU", "nEHSbAkKis", assigns=True),
    "doas": Wrapper("uC", "nsL"),
    "ssh": Wrapper("pilFoJLRDWbceEImOQSwB", "46AaCfGgKkMNnqsTtVvXxYy", words=1, joined=True),
    "watch": Wrapper("nq", "bcdegprtwx", joined=True),
    "parallel": Wrapper("jINn", "kX0", joined=True),
    "strace": Wrapper("eopsuEaIPSX", "fFvcdhiqrtTxyYzC"),
    "chroot": Wrapper(words=1),
    "taskset": Wrapper(flags="ac", words=1),
    "chrt": Wrapper(flags="abdfior", words=1),
    "flock": Wrapper("wE", "xsneoFuv", words=1),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "unshare": Wrapper(flags="mpunUifrC"),
    "npx": Wrapper(flags="y"),
    "uvx": Wrapper(),
    "pipx": Wrapper(words=1),
    "xvfb-run": Wrapper("ns", "a"),
    "su": Wrapper(), "runuser": Wrapper(), "script": Wrapper(), "systemd-run": Wrapper(), "nsenter": Wrapper(),
    "pkexec": Wrapper(), "rlwrap": Wrapper(), "entr": Wrapper("", "acdnprsz"), "ltrace": Wrapper(), "gdb": Wrapper(),
    "valgrind": Wrapper(), "fakeroot": Wrapper(), "proot": Wrapper(), "setpriv": Wrapper(), "catchsegv": Wrapper(),
    "prlimit": Wrapper(), "numactl": Wrapper(), "dbus-run-session": Wrapper(), "cgexec": Wrapper(), "run0": Wrapper(),
    "firejail": Wrapper(), "bwrap": Wrapper(), "torsocks": Wrapper(), "proxychains": Wrapper(), "coproc": Wrapper(),
    "tmux": Wrapper(), "screen": Wrapper(), "at": Wrapper(), "batch": Wrapper(), "expect": Wrapper(), "rsh": Wrapper(),
    "fd": Wrapper(), "fdfind": Wrapper(), "start-stop-daemon": Wrapper(), "setarch": Wrapper(), "unbuffer": Wrapper(),
}  # fmt: skip
"""Every program here is looked through for what is denied; only what is certain is allowed through it."""
RUNNERS = {
    "uv": "run tool", "poetry": "run", "pipenv": "run", "hatch": "run", "pdm": "run", "rye": "run", "conda": "run",
    "npm": "exec exe x explore", "pnpm": "exec dlx", "yarn": "exec dlx", "bun": "x", "bundle": "exec",
    "direnv": "exec", "docker": "", "podman": "",
    "kubectl": "exec", "mise": "exec", "nix": "",
}  # fmt: skip
"""Programs of which these subcommands, or any, run another program."""
GIT = named(
    """add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout
    checkout-index cherry cherry-pick clean clone commit commit-tree config count-objects credential describe
    diff diff-files diff-index diff-tree difftool fast-export fast-import fetch filter-branch for-each-ref
    format-patch fsck gc grep hash-object help init interpret-trailers log ls-files ls-remote ls-tree
    maintenance merge merge-base merge-file merge-tree mergetool mktree mv name-rev notes pack-objects prune
    pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset restore
    rev-list rev-parse revert rm send-email shortlog show show-branch show-ref sparse-checkout stash status
    stripspace submodule switch symbolic-ref tag unpack-objects update-index update-ref update-server-info var
    verify-commit verify-pack verify-tag version whatchanged worktree write-tree"""
)
"""Commands of git itself, which no alias can hide."""
_GIT_RUNS = {
    **dict.fromkeys(("config", "mergetool"), re.compile(r"(?s).*")),
    "maintenance": re.compile(r"start|register"),
    "init": re.compile(r"(?s)--te.*"),
    "bisect": re.compile(r"run"),
    "rebase": re.compile(r"(?s)-[a-z]*x.*|--exe.*"),
    "submodule": re.compile(r"foreach"),
    "difftool": re.compile(r"(?s)-x.*|--e.*"),
    "filter-branch": re.compile(r"(?s).*"),
    "grep": re.compile(r"(?s)-[A-Za-z]*O.*|--op.*"),
    "archive": re.compile(r"(?s)--(e|rem).*"),
    "send-email": re.compile(r"(?s)--(sen|sm|to-|cc-|h).*"),
    "push": re.compile(r"(?s)--(rece|e).*|ext::.*"),
    "clone": re.compile(r"(?s)-u.*|--u.*|-c.*|--conf.*|--te.*|ext::.*"),
    **dict.fromkeys(("fetch", "pull", "ls-remote", "remote"), re.compile(r"(?s)--up(|l.*)|--exec.*|ext::.*")),
}
"""Those that run other commands, and the word that says so."""
_GIT_REMOTE = re.compile(r"(?s)ext::.*")
"""Where it says so for any other, too."""
_GIT_READS = re.compile(
    r"(--(local|global|system|worktree|null|show-origin|show-scope|name-only|includes) )*"
    r"(--get(-all|-regexp)? [^-]\S*|get [^-]\S*|--list|-l|list|[^-\s]+\.[^-\s]*)"
)
"""What follows `git config` where it only reads."""
_GIT_SET = re.compile(r"(?s)-c|--config-env.*|--exec-path=.*")
"""Options before the subcommand that can name a program to be run."""
_GIT_VALUED = named(
    """--config-env --namespace --git-dir --exec-path --super-prefix --attr-source -c -C --work-tree"""
)  # fmt: skip


def base(program: str) -> str:
    """The name of a program without the folder it is in."""
    return program.rsplit("/", 1)[-1]


def wrapped(words: tuple[str, ...], wrapper: Wrapper) -> int | None:
    """Where the command of a wrapper begins; None where that is not certain. `len(words)`: it has none."""
    place, left, dashes = 1, wrapper.words, False
    while place < len(words):
        word = words[place]
        if HOLE in word:
            return None
        if word == "--" and not dashes:
            dashes, place = True, place + 1
        elif word.startswith("-") and len(word) > 1 and not dashes and left == wrapper.words:
            letter = word[1]
            if letter in wrapper.valued:
                place += 1 if len(word) > 2 else 2
            elif set(word[1:]) <= set(wrapper.flags):
                place += 1
            else:
                return None
        elif re.match(r"[A-Za-z_]\w*=", word):
            if not wrapper.assigns:  # a program of that name, or a variable to a wrapper of another kind
                return None
            place += 1
        elif left:
            left, place = left - 1, place + 1
        else:
            break
    return min(place, len(words))


def script(words: tuple[str, ...]) -> int | None:
    """Where the line stands that a shell is given with `-c`; None where it has none."""
    place = 1
    while place < len(words) and words[place][:1] in ("-", "+", HOLE):
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", words[place]):
            place += 1
            while place < len(words) and re.fullmatch(r"[-+].+", words[place]):
                place += 2 if words[place] in ("-o", "+o", "-O", "+O") else 1
            return place if place < len(words) else None
        place += 2 if words[place] in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
    return None


def plain_shell(words: tuple[str, ...]) -> bool:
    """Whether a shell's options before `-c` are such that it runs the line after it and nothing else."""
    at = script(words)
    options = words[1:at]
    fine = re.compile(r"-[leuxfabhmpvc]+|--(norc|noprofile|login|posix)|[-+]o|pipefail|errexit|nounset|--")
    return base(words[0]) in _ALIKE and all(fine.fullmatch(option) for option in options)


def reads_stdin(words: tuple[str, ...]) -> bool:
    """Whether a shell without `-c` runs what comes in through its stdin."""
    return all(word[:1] in ("-", "+") for word in words[1:]) or "-s" in words


def code(words: tuple[str, ...]) -> int | None:
    """The place of the option after which an interpreter's code stands, 0 for a file that the shell itself runs; None
    where there is none."""
    if words[0] in ("source", "."):
        return 0
    for program, option, valued in _CODE:
        if program.fullmatch(base(words[0])):
            for place, word in enumerate(words[1:], 1):
                if option.fullmatch(word) or HOLE in word:
                    return place
                if not word.startswith("-") and not valued.fullmatch(words[place - 1]):
                    break
    return None


def code_comes_in(words: tuple[str, ...]) -> bool:
    """Whether an interpreter runs what comes in through its stdin."""
    if code(words) is not None or not any(program.fullmatch(base(words[0])) for program, _, _ in _CODE):
        return False
    options = [*itertools.takewhile(lambda word: word.startswith("-"), words[1:])]
    return "-" in options or (len(options) == len(words) - 1 and not any(map(_NO_CODE.fullmatch, options)))


def runner(words: tuple[str, ...]) -> int | None:
    """The place of a subcommand that runs another program, or may; None where there is none."""
    wanted = RUNNERS.get(base(words[0]))
    if not wanted:
        return None if wanted is None or len(words) == 1 else 1
    for place, word in enumerate(words[1:], 1):
        if word in wanted.split() or HOLE in word:
            return place
        if not word.startswith("-") and not words[place - 1].startswith("--"):
            return None
    return None


def git(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """A git command without the options before the subcommand, and whether the subcommand is certain."""
    place, certain = 1, True
    while place < len(words) and words[place].startswith(("-", HOLE)):
        word = words[place]
        name = word.split("=", 1)[0]
        if HOLE in word or name in ("-c", "--config-env", "--exec-path"):
            certain = False
        place += 2 if name in _GIT_VALUED and "=" not in word and word != "--exec-path" else 1
    rest = words[place:]
    return (words[0], *rest), certain and (not rest or rest[0] in GIT)


def git_runs(words: tuple[str, ...]) -> int | None:
    """The place of the word after which a git command is given others to run; None where it is given none."""
    rest, _ = git(words)
    ahead = range(1, len(words) - len(rest) + 1)
    if (set_by := next((n for n in ahead if _GIT_SET.fullmatch(words[n])), None)) is not None:
        return set_by
    if len(rest) < 2:
        return None
    at = len(words) - len(rest) + 1
    if rest[1] not in GIT:  # an alias, or a program of that name
        return at
    if rest[1] == "config" and _GIT_READS.fullmatch(" ".join(rest[2:])):
        return None
    sign = _GIT_RUNS.get(rest[1])
    places = range(at if sign and sign.fullmatch("") else at + 1, len(words))
    found = (n for n in places if (sign and HOLE in words[n]) or (sign or _GIT_REMOTE).fullmatch(words[n]))
    return next(found, None)
