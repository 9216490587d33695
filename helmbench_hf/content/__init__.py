"""Authored files -> validated objects, with errors that name file, line, field and fix."""
