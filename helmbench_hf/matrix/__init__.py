"""Validated objects -> cases: the full cross, its balanced fractions, and the text that a model gets."""
