"""The command line."""

import argparse
import sys
from itertools import islice

from csv_tool.dialect import detect
from csv_tool.reader import rows
from csv_tool.stats import summarise

SAMPLE = 64 * 1024
"""Characters of a file that are looked at for its dialect."""


def number(value):
    """A number with at most two decimals, a dash for none."""
    return "-" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def read(path):
    """Yield the rows of a file in its own dialect."""
    with open(path, newline="", encoding="utf-8") as source:
        delimiter = detect(source.read(SAMPLE)).delimiter
        source.seek(0)
        yield from rows(source, delimiter)


def main(arguments):
    """Run one command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="csv_tool", description="Read delimited text.")
    commands = parser.add_subparsers(dest="command", required=True)
    head = commands.add_parser("head", help="print the first rows")
    head.add_argument("file")
    head.add_argument("-n", type=int, default=10)
    stats = commands.add_parser("stats", help="summarise the columns")
    stats.add_argument("file")
    options = parser.parse_args(arguments)
    try:
        if options.command == "head":
            for row in islice(read(options.file), options.n):
                print(*row, sep="\t")
        else:
            for column in summarise(read(options.file)):
                figures = map(number, (column.low, column.high, column.mean))
                print(column.name, column.values, column.missing, *figures, sep="\t")
    except (OSError, ValueError) as error:
        print(f"csv_tool: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
