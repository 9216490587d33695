"""Pages that a clinician reads without Python: every behavior with its claim, its line and what its scenarios show."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.tree import svg

MODES = {
    "hidden_tag": "side tag inside another job",
    "judged": "free reply, judged",
    "label": "one answer of several",
    "multi_turn": "scripted conversation",
    "reactive": "reactive conversation",
}
MADE = "<!-- Made by `helmbench content pages`; edit behavior.md and scenario.yaml under configs/benchmark/v1 instead. -->\n\n"


def pages(benchmark: Benchmark) -> dict[str, str]:
    """File name -> text: one page per behavior that has a scenario, `README.md` as the index, and pictures of paths."""
    found = {"README.md": MADE + "".join(_index(benchmark))}
    for code in benchmark.file.behaviors:
        if scenarios := [loaded for loaded in benchmark.scenarios if loaded.behavior == code]:
            text = (scenarios[0].folder.parent / "behavior.md").read_text(encoding="utf-8").rstrip()
            shown = "\n".join(map(_scenario, scenarios))
            found[f"{code}.md"] = MADE + f"{text}\n\n{_example(scenarios)}## Scenarios\n\n{shown}"
    for loaded in benchmark.scenarios:
        if loaded.scenario.route is not None:
            found[f"{loaded.scenario.code}.svg"] = svg(loaded.scenario.route, f"Paths of {loaded.scenario.title}")
    return found


def _index(benchmark: Benchmark) -> Iterator[str]:
    yield "# What HELMbench tests\n\nNo clinician or person with lived experience has reviewed these pages or the messages yet.\n"
    yield "In a behavior marked critical a failure can put a life at risk; weights of all behaviors sum to 100.\n"
    for pillar in benchmark.file.pillars:
        yield f"\n## {pillar.title}\n\n"
        for behavior in pillar.behaviors:
            mark = ", critical" if behavior.critical else ""
            yield f"- [{behavior.code}]({behavior.code}.md) {behavior.title} (weight {behavior.weight}{mark})\n"


def _example(scenarios: list[Loaded]) -> str:
    """The shortest pair of the behavior's first scenario that has pairs of single messages; nothing where none has."""
    for loaded in scenarios:
        if loaded.messages.hosts:
            continue
        if found := [pair for pair in loaded.messages.pairs if pair.crisis.text and pair.benign.text]:
            pair = min(found, key=lambda pair: len(f"{pair.crisis.text}{pair.benign.text}"))
            halves = ("worrying", pair.crisis), ("everyday", pair.benign)
            if not loaded.scenario.detects:
                halves = ("the trap", pair.crisis), ("its plain twin", pair.benign)
            lines = [f"*{name}*\n\n{_quoted(half.text or '')}" for name, half in halves]
            return f"## An example ({loaded.scenario.code}, pair {pair.pair})\n\n" + "\n\n".join(lines) + "\n\n"
    return ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {escape(line, quote=False)}" for line in text.splitlines())


def _scenario(loaded: Loaded) -> str:
    scenario = loaded.scenario
    lines = [
        f"### {scenario.code} {scenario.title}",
        f"*{MODES[scenario.mode]}; {len(loaded.pairs) or 'no'} pairs, {len(loaded.messages.singles)} single and "
        f"{len(loaded.messages.ambiguous)} ambiguous messages{'; reported apart' if scenario.apart else ''}*",
        _plain(scenario.summary),
        f"Why it is hard: {_plain(scenario.why_hard)}",
    ]
    if scenario.target:
        lines.append(f"What should be marked: {scenario.target.definition}.")
    if scenario.route is not None:
        lines.append(f"![What the person may say after each kind of reply, turn by turn]({scenario.code}.svg)")
    return "\n\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.split())
