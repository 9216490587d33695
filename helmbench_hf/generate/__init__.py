"""Cases -> requests -> completions: conversations over any engine, stored answers, reference policies."""
