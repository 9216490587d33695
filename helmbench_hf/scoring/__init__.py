"""Verdicts to scores with their uncertainty. Pure arithmetic: knows no model, no engine and no file of a run.

The seam: `run.score` (cases and verdicts -> `result.Scores`), `result.to_json`, `compare.compare` (two `scores.json`),
`policies.score_policies` (what rules that do not read the message would score).
"""
