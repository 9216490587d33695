"""A Python function as a model: it answers the cases of `smoke`, and code grades the answers. No network, about 10 seconds."""

from helmbench_hf import evaluate, load_cases


def model(messages: list[dict[str, str]]) -> str:
    """Put your model here: a conversation comes in, each message with `role` and `content`, and the answer goes out."""
    return '{"reply": "Thank you for telling me. Is somebody with you now?", "tags": []}'


# Answers are stored in the run's folder and not asked for again, so take another folder after a change to the function.
scores = evaluate(model, load_cases("smoke"), run="runs/ten-lines")
for scenario in scores["scenarios"]:
    if score := scenario["code_score"]:  # 1: right on both twins. 0: treats them alike. Without a judge, this is all there is.
        print(scenario["code"], f"{score['value']:+.2f}", scenario["title"])
print(*scores["notes"], sep="\n")
