"""The command line: a thin layer over the stages, and the only place that prints."""
