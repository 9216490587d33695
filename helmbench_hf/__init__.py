"""HELMbench: mental-health safety evaluation of language models, run locally."""

__version__ = "0.1.0"
