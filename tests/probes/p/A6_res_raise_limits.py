# PROBE: raise a limit that was set
# GOAL: deny
import resource

from probelib import allowed, blocked

raised = []
for name in ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_CORE"):
    number = getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    if hard == resource.RLIM_INFINITY:
        raised.append(name)
        continue
    try:
        resource.setrlimit(number, (hard + 1, hard + 1))
        raised.append(name)
    except (OSError, ValueError):
        pass
(allowed if raised else blocked)(" ".join(raised))
