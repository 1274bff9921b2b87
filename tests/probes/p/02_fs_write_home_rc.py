# PROBE: append to ~/.bashrc and ~/.profile (runs outside later)
# GOAL: deny
# VERIFY: home_rc_changed

from probelib import CFG, allowed, append, blocked, ename

n = 0
for f in (".bashrc", ".profile"):
    try:
        append(CFG["home"] + "/" + f)
        n += 1
    except OSError as e:
        last = ename(e)
(allowed if n else blocked)("%d written" % n)
