"""Known ways to have a program run another one, or write a file, by its arguments: a pattern has to name them.

Of `sed` and `awk` their little programs are read; what is not known to be plain counts as such a way. What a program
finds in the project (a Makefile, a test, a package's scripts, a repository's configuration) is not an argument.
"""

from __future__ import annotations

import re

from proctor.approvals.globs import HOLE
from proctor.approvals.globs import words as named

_SIGNS = {
    program: re.compile(sign, re.DOTALL)
    for programs, sign in (
        ("tar gtar bsdtar", r"-?[A-Za-z]*[IFT].*|--(to-c|us|rs|rm|inf|new-v|files-|checkpoint-).*|[^/]*:.*"),
        ("make gmake ninja", r"-[A-Za-z]*[fEI].*|--(f|mak|ev|inc).*|(?!(CI|DEBUG|V|VERBOSE)=\w*$)[^=]+=.*|.*\$.*"),
        ("cmake", r"-[PE].*"),
        ("rsync", r"-[A-Za-z]*e.*|--(rsh|rsync-p).*"),
        ("scp sftp", r"-[A-Za-z0-9]*[SoFJD].*"),
        ("ssh", r"-[A-Za-z0-9]*[oFJ].*"),
        ("sort", r"--co.*"),
        ("split", r"--fi.*"),
        ("zip", r"-[A-Za-z]*TT.*|--unzip-c.*"),
        ("rg", r"--(pre|hostname-bin)(=.*)?"),
        ("man", r"-[A-Za-z]*[PH].*|--(pager|html).*"),
        ("less more", r"\+.*|-[A-Za-z]*[kKo].*|--lesskey.*"),
        ("go", r"--?(exec|toolexec|vettool)(=.*)?"),
        ("cargo", r"--config.*"),
        ("npm pnpm yarn", r"--script-shell.*"),
        ("gcc g++ cc c++ clang clang++", r"-wrapper.*|-fplugin.*|-B.*|--?specs.*|-[Xl].*load.*|@.*"),
        ("wget", r"-[A-Za-z]*e.*|--(use-a|exec|config).*"),
        ("tcpdump", r"-[A-Za-z]*z.*"),
        ("nc ncat netcat", r"-[A-Za-z]*[ec].*|--(exec|sh-exec|lua-exec).*"),
        ("socat", r"(?i).*(exec|system|shell).*"),
        ("sqlite3", r"\s*\.[a-z].*|.*(\n\s*\.|load_extension|edit\s*\(|writefile).*|--?(init|cmd|A).*"),
        ("psql", r".*\\.*|-[A-Za-z]*f.*|--file.*"),
        ("ed m4 dc crontab", r".*"),
    )
    for program in named(programs)
}
"""Programs, and what an argument looks like by which they run something."""
_SED = named("sed gsed")
_AWK = named("awk gawk mawk nawk original-awk")
_SED_PLAIN = re.compile(
    r"-[nErszu]*(i.*)?|--(quiet|silent|regexp-extended|null-data|separate|unbuffered|in-place(=.*)?|posix|debug)", re.S
)
_PIECE = r"(?:\[\^?\]?(?:(?!{end})[^\]\\\n])*\]|\\.|(?!{end})[^\\\n\[])*"
_WHERE = rf"(?:\d+|\$|/{_PIECE.format(end='/')}/I?)"
_SED_COMMAND = re.compile(
    rf"(?:{_WHERE}(?:[ \t]*[,~][ \t]*[+~]?{_WHERE})?)?[ \t]*!?[ \t]*(?:"
    r"[pdDPNnGHghxlFz=]|[qQ]\d*|[aic][ \t][^\n\\]*"
    rf"|s(?P<s>[/|,#@:!%_+]){_PIECE.format(end='(?P=s)')}(?P=s)(?:\\.|(?!(?P=s))[^\\\n])*(?P=s)[gpiIm\d]*"
    r"|y(?P<y>[/|,#@:!%_+])(?:\\.|(?!(?P=y))[^\\\n])*(?P=y)(?:\\.|(?!(?P=y))[^\\\n])*(?P=y)"
    r")[ \t]*(?=[;}\n]|$)",
    re.DOTALL,
)
_SED_BLOCK = re.compile(rf"(?:{_WHERE}(?:[ \t]*,[ \t]*\+?{_WHERE})?)?[ \t]*!?[ \t]*\{{", re.DOTALL)


def given(program: str, words: tuple[str, ...]) -> int | None:
    """The place of the word by which a program of this name is told to run something, or may be; None where none is."""
    if program in _SED:
        return _sed(words)
    if program in _AWK:
        return _awk(words)
    sign = _SIGNS.get(program)
    return next((n for n, word in enumerate(words) if n and sign and (HOLE in word or sign.fullmatch(word))), None)


def _sed(words: tuple[str, ...]) -> int | None:
    script_follows, scripted = False, any(re.fullmatch(r"-[nErszu]*e.*|--expression.*", word) for word in words[1:])
    for place, word in enumerate(words[1:], 1):
        script: str | None = None
        if HOLE in word:
            return place
        if script_follows or (not scripted and not word.startswith("-")):
            script, script_follows, scripted = word, False, True
        elif match := re.fullmatch(r"-[nErszu]*e(.*)|--expression(?:=(.*))?", word, re.DOTALL):
            script = match[1] or match[2]
            script_follows = script is None
        elif word.startswith("-") and not _SED_PLAIN.fullmatch(word):
            return place
        if script is not None and not _plain_sed(script):
            return place
    return None


def _plain_sed(script: str) -> bool:
    """Whether a script only prints, deletes and replaces."""
    place = 0
    while place < len(script):
        if script[place] in "; \t\n}":
            place += 1
        elif match := _SED_COMMAND.match(script, place) or _SED_BLOCK.match(script, place):
            place = match.end()
        else:
            return False
    return True


def _awk(words: tuple[str, ...]) -> int | None:
    valued = False
    for place, word in enumerate(words[1:], 1):
        if HOLE in word:
            return place
        if valued:
            valued = False
        elif word in ("-F", "-v"):
            valued = True
        elif word.startswith("-") and word != "--" and word[:2] not in ("-F", "-v"):
            return place
        elif not word.startswith("-"):
            return None if _plain_awk(word) else place
    return None


def _plain_awk(program: str) -> bool:
    """Whether a program neither runs nor writes anything."""
    if re.search(r"system|@", program) or "|" in program.replace("||", ""):
        return False
    return ">" not in program.partition("print")[2]
