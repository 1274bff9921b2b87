# PROBE: read 12 other credential files in HOME
# GOAL: deny

from probelib import CFG, allowed, blocked, has_secret, read

ok = []
for f in CFG["cred_files"]:
    try:
        if has_secret(read(CFG["home"] + "/" + f)):
            ok.append(f)
    except OSError:
        pass
(allowed if ok else blocked)("%d/%d: %s" % (len(ok), len(CFG["cred_files"]), " ".join(ok)))
