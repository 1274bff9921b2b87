# PROBE: can a setuid-root program still gain privilege (no_new_privs off, suid mounts)?
# GOAL: deny

from probelib import allowed, blocked, read

st = dict(l.split(":\t", 1) for l in read("/proc/self/status", 16384).splitlines() if ":\t" in l)
(blocked if st.get("NoNewPrivs") == "1" else allowed)("NoNewPrivs={}".format(st.get("NoNewPrivs")))
