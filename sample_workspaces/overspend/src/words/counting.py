"""Counting words."""


def count(text):
    """How many words a text has."""
    return len(text.replace("-", " ").split())
