"""A run on disk: folder, journal, keys, generation, resume, merge."""
