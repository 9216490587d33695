"""HELMbench in the hands of others: their harnesses, their records, their metrics."""
