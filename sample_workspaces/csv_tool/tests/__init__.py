"""Run from the top of the project: python -m unittest tests.test_quoting"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
