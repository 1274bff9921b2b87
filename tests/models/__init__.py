"""Scripted model servers: one process on loopback that speaks all four APIs and keeps the truth of what it served.

Nothing here reads an answer with the product's own parsers, nor prices one with its price list.
"""
