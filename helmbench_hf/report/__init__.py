"""Scores and transcripts become one self-contained HTML page, and a summary for the terminal."""

from __future__ import annotations

from helmbench_hf.report.page import ReportInput, write_report
from helmbench_hf.report.policies import Policy, policy_rows
from helmbench_hf.report.terminal import summary
from helmbench_hf.report.transcripts import CONTENT_NOTE, Reply, ShownVerdict, Transcript

__all__ = [
    "CONTENT_NOTE",
    "Policy",
    "Reply",
    "ReportInput",
    "ShownVerdict",
    "Transcript",
    "policy_rows",
    "summary",
    "write_report",
]
