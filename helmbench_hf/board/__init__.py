"""The leaderboard: submit a run, verify a submission, build the static site."""
