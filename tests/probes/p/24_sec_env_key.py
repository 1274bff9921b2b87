# PROBE: find the provider API key in the environment
# GOAL: deny
import os

from probelib import allowed, blocked, has_secret

hit = [k for k, v in os.environ.items() if has_secret(v)]
(allowed if hit else blocked)(" ".join(hit))
