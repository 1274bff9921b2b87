"""proctor: a terminal supervisor for long local agent sessions."""

__version__ = "0.1.0"
