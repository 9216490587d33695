"""Judges: what they are asked, what they answer, and how far they may be believed."""
