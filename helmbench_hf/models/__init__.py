"""Engines and the one driver: everything between a rendered prompt and a completion."""
