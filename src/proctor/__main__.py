"""`python -m proctor` is the same as `proctor`."""

import sys

from proctor.cli.main import main

sys.exit(main())
