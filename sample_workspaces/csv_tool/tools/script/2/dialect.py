"""How a text is delimited."""

from dataclasses import dataclass

from csv_tool.reader import parse

DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Dialect:
    """A delimiter, and whether the first row names the columns."""

    delimiter: str = ","
    header: bool = False


def is_number(field):
    """Whether a field reads as a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def columns(sample, delimiter):
    """The number of columns if every row has the same, else 1."""
    try:
        widths = {len(row) for row in parse(sample, delimiter)}
    except ValueError:
        return 1
    return widths.pop() if len(widths) == 1 else 1


def detect(sample):
    """The dialect of a sample of text; without evidence, commas and no header."""
    delimiter = max(DELIMITERS, key=lambda candidate: columns(sample, candidate))
    if columns(sample, delimiter) == 1:
        return Dialect()
    first, *others = parse(sample, delimiter)
    header = not any(map(is_number, first)) and any(is_number(field) for row in others for field in row)
    return Dialect(delimiter, header)
