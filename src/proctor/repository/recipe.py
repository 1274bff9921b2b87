"""The small files of a session repository: a configuration of our own making, refs, and rules, as texts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from proctor.repository import rules
from proctor.repository.layout import Kind, Layout
from proctor.repository.source import Facts

SESSION_BRANCHES = "refs/heads/proctor/"
"""Written into the operator's repository by the harness itself."""

_KEPT = re.compile(
    r"core\.(filemode|autocrlf|eol|safecrlf|symlinks|ignorecase|precomposeunicode|sparsecheckout|sparsecheckoutcone"
    r"|bigfilethreshold|quotepath|abbrev)"
    r"|index\.(sparse|version)"
    r"|user\.(name|email)"
    r"|init\.defaultbranch"
    r"|filter\..+\.(clean|smudge|process|required)"
    r"|remote\..+\.(url|fetch|promisor|partialclonefilter)"
    r"|branch\..+\.(remote|merge|rebase)"
    r"|submodule\.(.+\.(url|active)|active)"
    r"|extensions\.(objectformat|partialclone)",
    re.S,
)
_OF_THE_WHOLE = re.compile(r"core\.sparsecheckout|index\.sparse|branch\.|remote\.|submodule\.|extensions\.partial")
"""What means nothing to a repository of one folder of another, or to one without history."""


def texts(
    layout: Layout, facts: Facts, place: Path, hide: Iterable[str] = (), is_apart: bool = False
) -> dict[str, str]:
    """The content of each small file of the session repository that will stand at `place` inside.

    Paths to `hide` are ignored: what covers them is nothing that git could take in. One that is apart has no refs.
    """
    assert layout.git_dir is not None
    assert layout.common is not None
    is_part = layout.kind is Kind.ABOVE or is_apart
    info = layout.common / "info"
    marks = rules.content(_named(facts, "core.attributesfile", layout.top, "attributes"))
    marks = rules.attributes(marks, layout.prefix)
    marks += "".join(rules.attributes(*file) for file in rules.above(layout.top, layout.prefix, ".gitattributes"))
    hidden = rules.ignores(rules.content(_named(facts, "core.excludesfile", layout.top, "ignore")), layout.prefix)
    hidden += rules.ignores(rules.content(info / "exclude"), layout.prefix)
    hidden += "".join(rules.ignores(*file) for file in rules.above(layout.top, layout.prefix, ".gitignore"))
    hidden += rules.literal(hide)
    made = {
        "config": config(layout, facts, place / "info" / "global-attributes" if marks else None, is_apart),
        "HEAD": f"ref: {facts.branch}\n" if facts.branch else f"{facts.head}\n",
        "info/exclude": hidden,
        "info/global-attributes": marks,
        "info/attributes": rules.attributes(rules.content(info / "attributes"), layout.prefix),
    }
    if not is_part:
        made |= {
            "packed-refs": _packed(facts),
            "info/sparse-checkout": rules.content(layout.git_dir / "info" / "sparse-checkout"),
            "shallow": rules.content(layout.common / "shallow"),
            **{name: f"ref: {target}\n" for name, target in facts.links.items()},
        }
    return {name: text for name, text in made.items() if text or name == "config"}


def empty(layout: Layout, facts: Facts, hide: Iterable[str] = ()) -> dict[str, str]:
    """The same for a workspace without a repository: an empty history."""
    branch = facts.last("init.defaultbranch") or "main"
    hidden = rules.content(_named(facts, "core.excludesfile", layout.top, "ignore"))
    hidden = rules.ignores(hidden, "") + rules.literal(hide)
    made = {"config": config(layout, facts, None), "HEAD": f"ref: refs/heads/{branch}\n", "info/exclude": hidden}
    return {name: text for name, text in made.items() if text}


def config(layout: Layout, facts: Facts, marks: Path | None, is_apart: bool = False) -> str:
    """The configuration of the session repository; `marks` is its file of attributes that anything else overrides."""
    is_part = layout.kind in (Kind.ABOVE, Kind.NONE)
    kept = [
        (one.key, _without_secrets(one.value) if one.key.endswith(".url") else one.value)
        for one in facts.settings
        if _KEPT.fullmatch(one.key) and not ((is_part or is_apart) and _OF_THE_WHOLE.match(one.key))
    ]
    extended = any(key.startswith("extensions.") for key, _ in kept)
    own = [
        ("core.repositoryformatversion", "1" if extended else "0"),
        ("core.bare", "false"),
        ("core.logallrefupdates", "true"),
        ("core.fsmonitor", "false"),
        ("core.untrackedcache", "false"),
    ]
    if is_part:
        own.append(("core.worktree", str(layout.workspace)))
    if marks is not None:
        own.append(("core.attributesfile", str(marks)))
    return _written((*own, *kept))


def _written(pairs: tuple[tuple[str, str], ...]) -> str:
    text = ""
    open_section = ""
    for key, value in pairs:
        section, _, rest = key.partition(".")
        subsection, dot, name = rest.rpartition(".")
        heading = f'[{section} "{_escaped(subsection)}"]\n' if dot else f"[{section}]\n"
        if heading != open_section:
            text += heading
            open_section = heading
        text += f'\t{name} = "{_escaped(value)}"\n'
    return text


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _without_secrets(url: str) -> str:
    """A remote's address without a name, a password or a token in it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "unknown"
    if not parts.scheme or not parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _named(facts: Facts, key: str, top: Path, default: str) -> Path | None:
    """The file of the operator's that a key of the configuration names, or that stands at the usual place."""
    home = os.environ.get("HOME", "")
    named = facts.last(key)
    if named.startswith("~/"):
        return Path(home) / named[2:] if home else None
    if named:
        return top / named
    folder = os.environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    return Path(folder) / "git" / default if folder else None


def _packed(facts: Facts) -> str:
    plain: Mapping[str, str] = {name: found for name, found in facts.refs.items() if name not in facts.links}
    lines = [f"{plain[name]} {name}\n" for name in sorted(plain, key=os.fsencode)]
    return "# pack-refs with: sorted \n" + "".join(lines)
