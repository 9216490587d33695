"""Submissions of runs to the results repository, their verification, and the board that shows them."""
