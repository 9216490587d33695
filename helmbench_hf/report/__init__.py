"""Scores and transcripts become one self-contained HTML page, and a summary for the terminal."""
