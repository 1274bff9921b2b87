"""Notices to the operator."""

from proctor.notify.send import Channels, Sent, Urgency, send

__all__ = ["Channels", "Sent", "Urgency", "send"]
