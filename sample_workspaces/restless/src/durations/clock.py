"""Durations as people read them."""


def clock(seconds):
    """Minutes and seconds, as in 2:05."""
    return f"{seconds // 60}:{seconds % 60:02d}"
