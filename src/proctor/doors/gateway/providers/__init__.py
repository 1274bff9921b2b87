"""The languages in which models are asked: one module each, and which of them a request speaks."""
