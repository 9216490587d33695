"""The task folder for lm-evaluation-harness."""
