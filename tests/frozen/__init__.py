"""Frozen references: what the fixed code makes of answers and verdicts that a seed decides."""
