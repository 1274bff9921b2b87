"""The command line."""

import sys


def main(arguments):
    """Run one command; returns the exit status."""
    print("csv_tool: no commands yet", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
