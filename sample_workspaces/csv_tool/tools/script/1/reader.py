"""Rows out of delimited text."""

PLAIN, QUOTED, CLOSING = range(3)
"""Outside quotes, inside them, and just after a quote that closes the field unless another follows."""


def parse(text, delimiter=",", quote='"'):
    """Yield the rows of a text as lists of strings. An unclosed quote raises ValueError."""
    row, field, state = [], "", PLAIN
    for char in text:
        if state == QUOTED:
            if char == quote:
                state = CLOSING
            else:
                field += char
        elif char == quote and state == CLOSING:
            field += quote
            state = QUOTED
        elif char == quote and not field:
            state = QUOTED
        elif char == delimiter:
            row.append(field)
            field, state = "", PLAIN
        elif char == "\n":
            if row or field or state == CLOSING:
                yield [*row, field]
            row, field, state = [], "", PLAIN
        elif char != "\r":
            field += char
    if state == QUOTED:
        raise ValueError("a quote is never closed")
    if row or field or state == CLOSING:
        yield [*row, field]


def rows(source, delimiter=","):
    """Yield the rows of an open text file."""
    yield from parse(source.read(), delimiter)
