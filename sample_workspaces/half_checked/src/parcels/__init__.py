"""Parcels."""
