"""Verdicts to scores with their uncertainty. Pure arithmetic: knows no model, no engine and no file of a run."""
