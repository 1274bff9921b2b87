#!/bin/sh
# A worker in plain shell: it names no ids, and tells what each call came to before it makes the next.
# tools/turns/N.sh is what it does in its iteration N, the last one again when there are no more.

quoted() {
    head -c 400 | awk '{gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); printf "%s\\n", $0}'
}

# tool NAME INPUT COMMAND…: tell a call, make it, tell its end.
tool() {
    name=$1 given=$2
    shift 2
    printf '{"proctor": "tool", "name": "%s", "input": %s}\n' "$name" "$given"
    if said=$("$@" 2>&1); then ok=true; else ok=false; fi
    printf '{"proctor": "result", "ok": %s, "output": "%s"}\n' "$ok" "$(printf '%s\n' "$said" | quoted)"
}

say() { printf '{"proctor": %s}\n' "$1"; }

brief=$(cat)
counter=$(cat tools/counter)
turn=$(cat "$counter" 2>/dev/null || echo 0)
echo $((turn + 1)) > "$counter"
[ -e "tools/turns/$turn.sh" ] || turn=last
echo "the brief has ${#brief} characters"
. "./tools/turns/$turn.sh"
