"""Scores and transcripts -> one self-contained HTML page, and a summary for the terminal."""

from __future__ import annotations

from helmbench_hf.report.html import write_report
from helmbench_hf.report.model import CONTENT_NOTE, Policy, Reply, ReportInput, ShownVerdict, Transcript
from helmbench_hf.report.terminal import summary

__all__ = [
    "CONTENT_NOTE",
    "Policy",
    "Reply",
    "ReportInput",
    "ShownVerdict",
    "Transcript",
    "summary",
    "write_report",
]
