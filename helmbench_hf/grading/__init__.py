"""Completions -> verdicts: by code where code can, by a judge where it cannot."""
