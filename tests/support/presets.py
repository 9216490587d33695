"""A tiny folder of presets that has no fault: one family that thinks by a switch, one that never does, one judge."""

from __future__ import annotations

from pathlib import Path

from tests.support.tree import Tree

MUSE, PLAIN, JUDGE = "models/muse-1.5.yaml", "models/plain.yaml", "judges/strict.yaml"
FILES = {
    MUSE: """
slug: muse-1.5
title: Muse 1.5
family: muse
license: {name: mit, source: [card]}
default: 7b
sizes:
  7b: {hub: acme/muse-7b, context: 40960, gpus: 1, source: [card]}
  70b: {hub: acme/muse-70b, context: 9000, gpus: 4, source: [card]}
  huge: {hub: acme/muse-huge, context: unknown, gpus: unknown, source: [card]}
sampling:
  thinking: {temperature: 0.6, top_p: 0.95, top_k: 20, min_p: 0.0, source: [card]}
  plain: {temperature: 0.7, top_p: 0.8, presence_penalty: 1.5, source: [card, recipe]}
thinking:
  default: "on"
  switch: enable_thinking
  tokens: 2000
  source: [card]
sources:
  card: {title: "Model card", seen: 2026-11-22}
  recipe: {title: "Recipe", seen: 2026-11-22}
""",
    PLAIN: """
slug: plain
title: Plain
family: plain
license: unknown
default: 1b
sizes:
  1b: {hub: acme/plain, context: 4096, gpus: 1, source: [card]}
sampling:
  plain: unknown
thinking: {default: "off", switch: none, source: [card]}
sources:
  card: {title: "Model card", seen: 2026-11-22}
""",
    JUDGE: """
slug: strict
title: A strict judge
model: muse-1.5
size: 70b
thinking: "off"
mode: evidence
orders: 2
context: 16384
why: It is the only one.
""",
}


def plant_presets(root: Path) -> Tree:
    """Write the tiny presets under `root`."""
    tree = Tree(root)
    for file, text in FILES.items():
        tree.write(file, text.lstrip("\n"))
    return tree
