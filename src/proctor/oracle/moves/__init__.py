"""Telling tests that moved, got another name or were folded together from tests that are gone."""
