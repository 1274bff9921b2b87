"""Rows out of delimited text."""


def parse(text, delimiter=","):
    """Yield the rows of a text as lists of strings."""
    for line in text.splitlines():
        yield line.split(delimiter)


def rows(source, delimiter=","):
    """Yield the rows of an open text file."""
    yield from parse(source.read(), delimiter)
