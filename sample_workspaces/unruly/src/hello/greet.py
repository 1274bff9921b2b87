"""Greetings."""


def greeting(name):
    """A greeting by name."""
    return "Hello, " + name
