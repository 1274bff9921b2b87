"""Numerals."""
