"""Cases <-> the Hugging Face dataset: rows, files, card, loading with content checks."""
