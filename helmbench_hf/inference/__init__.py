"""Engines, the one driver, keys, journal, host: everything between a rendered prompt and a journaled completion."""
