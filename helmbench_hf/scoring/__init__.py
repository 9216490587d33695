"""Verdicts to scores with their uncertainty. Pure arithmetic: knows no model, no engine and no file of a run.

Others call `run.score` (cases and verdicts -> `scores.Scores`), `compare.compare` and `compare.board` (two or more runs), and
`policies.score_policies` (what rules that do not read the message would score).
"""
