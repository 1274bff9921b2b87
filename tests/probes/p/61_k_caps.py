# PROBE: effective or bounding capabilities left in the sandbox
# GOAL: deny
# CONTROL: root

from probelib import allowed, blocked, read

st = dict(l.split(":\t", 1) for l in read("/proc/self/status", 16384).splitlines() if ":\t" in l)
(allowed if int(st["CapEff"], 16) else blocked)("eff={} bnd={}".format(st["CapEff"], st["CapBnd"]))
