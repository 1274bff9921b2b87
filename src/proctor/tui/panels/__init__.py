"""The panels: pure functions from a view and a width to lines of spans."""
