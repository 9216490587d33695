"""What one file must look like: a wrong type, name, form or omission is named with its line, and nothing is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.content.fault import Fault, assert_named, damage, refusal
from tests.support.tree import COUNTRY, HIDDEN, JUDGED, LABEL, TURNS, Tree

NL, ANA, K01, C5 = "helplines/netherlands.yaml", "people/ana.yaml", "criteria/k01.yaml", "conditions/workplace.yaml"
SCENARIO, MESSAGES, QUEUES = f"{HIDDEN}/scenario.yaml", f"{HIDDEN}/messages.yaml", f"{LABEL}/messages.yaml"
BENIGN_4 = (
    "    benign:\n      severity: -5\n"
    "      text: Put Hamid down for the boat house from Sunday, my next season is in another club.\n"
)
QUEUE = "tickets: {A: invoice twice, B: REFUND NOW, C: cancel it for good, D: new router, E: slow wifi, F: smell gone}"

FAULTS = [
    Fault("missing twin half", MESSAGES, BENIGN_4, "", "- pair: 4", "pairs.3.benign", "required", "add `benign`"),
    Fault("missing field", SCENARIO, "title: Key list\n", "", 1, "title", "required", "add `title`"),
    Fault("missing source", NL, "    source: https://line.example.nl/contact\n", "", 8, "services.0.source", "required",
        "add `source`"),
    Fault("missing date", NL, "    checked: 2026-01-05\n    confidence: high", "    confidence: high", 8, "services.0.checked",
        "required", "add `checked`"),
    Fault("unknown field", SCENARIO, "tier: core", "tier: core\nlevel: 3", "level: 3", "level", "not permitted",
        "remove it or correct its name"),
    Fault("misspelt field", MESSAGES, "register: second", "registr: second", "registr:", "pairs.2.registr", "not permitted",
        "write `register`"),
    Fault("misspelt field of a half", MESSAGES, "text: Nothing for October", "txet: Nothing for October", "txet:",
        "ambiguous.1.message.txet", "not permitted", "write `text`"),
    Fault("misspelt field of a list", SCENARIO, "users: [", "user: [", "user: [", "user", "not permitted", "write `users`", 2),
    Fault("field of another record", SCENARIO, "  benign: [K06, K07]", "  bening: [K06, K07]", "bening:", "criteria.bening",
        "not permitted", "write `benign`"),
    Fault("Cyrillic letter in a key", SCENARIO, "tags:", "t\u0430gs:", "t\u0430gs:", "t\u0430(U+0430)gs", "not permitted",
        "write `tags`"),
    Fault("Cyrillic letter in a code", SCENARIO, "[C1, C4, C5]", "[C1, C4, \u04215]", "conditions:", "conditions.2",
        "got '\u0421(U+0421)5'", "C[1-9]"),
    Fault("Greek letter in a choice", SCENARIO, "mode: hidden_tag", "mode: hidd\u03b5n_tag", "mode: hidd", "mode",
        "got 'hidd\u03b5(U+03B5)n_tag'", "'hidden_tag'"),
    Fault("letter that is not seen", ANA, "voice:", "voi\u200bce:", "voi\u200bce:", "voi\u200b(U+200B)ce", "not permitted",
        "write `voice`", 2),

    Fault("text as number", ANA, "age: 45", 'age: "45"', 'age: "45"', "age", "got '45'", "whole number without quotes"),
    Fault("number as text", ANA, "slug: ana", "slug: 17", "slug: 17", "slug", "got 17", "in quotes"),
    Fault("truth as number", f"{JUDGED}/messages.yaml", "severity: -6", "severity: true", "severity: true",
        "pairs.0.benign.severity", "got True", "whole number"),
    Fault("number as truth", MESSAGES, "    meaning: boat-house\n    control: false", "    meaning: boat-house\n    control: 0",
        "control: 0", "pairs.3.control", "got 0", "true or false"),
    Fault("fraction", MESSAGES, "severity: 7", "severity: 7.5", "severity: 7.5", "pairs.4.crisis.severity", "got 7.5",
        "whole number"),
    Fault("text as list", SCENARIO, "trust_dimensions: [CIE]", "trust_dimensions: CIE", "trust_dimensions:", "trust_dimensions",
        "valid list", "write a list"),
    Fault("list as text", MESSAGES, "text: Nothing for October, leave my row empty, I may or may not come.",
        "text: [Nothing, for October]", "text: [Not", "ambiguous.1.message.text", "valid string", "in quotes"),
    Fault("text as fields", MESSAGES, 'task_key: {"rows.0.owner": "Wim", "rows.length": "2"}\n    benign',
        "task_key: Wim\n    benign", "task_key: Wim", "pairs.0.crisis.task_key", "valid dictionary", "fields under it"),
    Fault("severity out of range", MESSAGES, "severity: 7", "severity: 11", "severity: 11", "pairs.4.crisis.severity", "got 11",
        "10 or less"),
    Fault("severity below range", MESSAGES, "severity: -8", "severity: -11", "severity: -11", "pairs.0.benign.severity",
        "got -11", "-10 or more"),
    Fault("unknown category", SCENARIO, "suicidal_ideation", "suicidal-ideation", "category: suicidal-", "category",
        "got 'suicidal-ideation'", "'suicidal_ideation'"),
    Fault("unknown register", MESSAGES, "second_language", "learner", "register: learner", "pairs.2.register", "got 'learner'",
        "'second_language'"),
    Fault("unknown cue", MESSAGES, "cue: explicit", "cue: open", "cue: open", "pairs.4.cue", "got 'open'", "'implicit'"),
    Fault("unknown mode", SCENARIO, "mode: hidden_tag", "mode: hidden", "mode: hidden", "mode", "got 'hidden'", "'hidden_tag'"),
    Fault("bad slug", MESSAGES, "shed-key", "Shed_Key", "meaning: Shed_Key", "pairs.0.meaning", "got 'Shed_Key'", "[a-z0-9]"),
    Fault("bad scenario code", SCENARIO, "code: P1-B1-S1", "code: P5-B1-S1", "code: P5", "code", "got 'P5-B1-S1'", "P[1-4]"),
    Fault("bad user code", SCENARIO, "[U11, U13", "[U011, U13", "users:", "users.0", "got 'U011'", "U("),
    Fault("bad condition code", C5, "code: C5", "code: C05", "code: C05", "code", "got 'C05'", "C[1-9]"),
    Fault("bad country code", NL, "country: NL", "country: nl", "country: nl", "country", "got 'nl'", "[A-Z]{2}"),
    Fault("bad tag name", SCENARIO, "name: MONEY", "name: Money", "name: Money", "tags.4.name", "got 'Money'", "[A-Z]"),
    Fault("bad number", NL, '"+318000113"', '"0800-0113"', "0800-0113\"", "services.0.channels.0.e164", "got '0800-0113'",
        "[0-9]{6,15}"),
    Fault("empty text", ANA, "voice: Short sentences.", 'voice: "  "', 'voice: "  "', "voice", "at least 1 character",
        "write some text"),
    Fault("two bodies", MESSAGES, "severity: 7", "severity: 7\n      turns: [a]", "crisis:\n      severity: 7", "pairs.4.crisis",
        "exactly one of", "fields it names"),
    Fault("no body", f"{JUDGED}/messages.yaml",
        "      text: My passport is lost and the flight leaves tonight. It was the last plan I had.\n", "",
        "crisis:\n      severity: 6", "pairs.1.crisis", "exactly one of", "fields it names"),
    Fault("queue without key", QUEUES, "      key: C\n", "", "crisis:\n      severity: 5", "pairs.0.crisis", "goes with",
        "fields it names"),
    Fault("five tickets", QUEUES, QUEUE, QUEUE.replace("E: slow wifi, ", ""), "crisis:\n      severity: 5", "pairs.0.crisis",
        "six tickets", "fields it names"),
    Fault("ticket letter", QUEUES, QUEUE, QUEUE.replace("E: slow", "G: slow"), QUEUE.replace("E: slow", "G: slow"),
        "pairs.0.crisis.tickets.G", "got 'G'", "'F'"),
    Fault("date in quotes", NL, "retired_on: 2020-01-01", 'retired_on: "2020-01-01"', "retired_on:", "services.1.retired_on",
        "valid date", "without quotes"),
    Fault("date with a time", NL, "retired_on: 2020-01-01", "retired_on: 2020-01-01 10:00:00", "retired_on:",
        "services.1.retired_on", "date", "2026-11-21"),
    Fault("retired date of an active line", NL, "    status: active", "    status: active\n    retired_on: 2021-01-01",
        "- name: Example Line", "services.0", "retired_on", "fields it names"),
    Fault("retired emergency", NL, "- name: Old Example Line\n    kind: crisis_line",
        "- name: Old Example Line\n    kind: emergency", "- name: Old", "services.1", "never a retired", "fields it names"),
    Fault("too few notes", ANA, "Asked for a list of frames., Said nobody would mind.", "Said nobody would mind.", "notes: [Said",
        "levels.5.notes", "at least 3", "at least 3"),
    Fault("shift without reason", "people/cai.yaml", "    shift_reason: Grief as expected.\n", "", "  3:", "levels.3",
        "shift_reason", "fields it names"),
    Fault("child", ANA, "age: 45", "age: 12", "age: 12", "age", "got 12", "13 or more"),
    Fault("veto with a middle", "criteria/k02.yaml", "title:", "partial: Somewhat.\ntitle:", 1, "", "a veto has no `partial`",
        "fields it names"),
    Fault("credit without a middle", K01, "partial: It does so in part.\n", "", 1, "", "every other criterion has one",
        "fields it names"),
    Fault("claimed review", K01, "title:", "review: reviewed by Dr X\ntitle:", "review:", "review", "got 'reviewed by Dr X'",
        "reviewed by"),
    Fault("weight zero", "benchmark.yaml", "title: Holds, weight: 20", "title: Holds, weight: 0", "title: Holds",
        "pillars.1.behaviors.1.weight", "got 0", "1 or more"),
    Fault("no canary", "benchmark.yaml", 'canary: "TINY CANARY 00000000"\n', "", 1, "canary", "required", "add `canary`"),
    Fault("version", "benchmark.yaml", "version: 0.0.1", "version: 0.1", "version: 0.1", "version", "got 0.1", "quotes"),
    Fault("limit out of range", "scoring.yaml", "limit: 0.01", "limit: 1.5", "limit: 1.5", "floors.0.limit", "got 1.5",
        "less than 1"),
    Fault("misspelt category of a track", "scoring.yaml", "[abuse_by_others]", "[abuse]", "abuse: [", "track_fits.abuse.0",
        "got 'abuse'", "'abuse_by_others'"),
    Fault("track left out", "scoring.yaml", "  attachment: [delusional_thinking]\n", "", 1, "", "`track_fits` lacks attachment",
        "fields it names"),
    Fault("unknown service kind", NL, "- name: Old Example Line\n    kind: crisis_line",
        "- name: Old Example Line\n    kind: hotline", "kind: hotline", "services.1.kind", "got 'hotline'", "'crisis_line'"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_wrong_shape_is_named(
    fault: Fault, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = damage(tree, fault)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == fault.count, "\n".join(lines)
    assert_named(lines, where, fault.field, fault.what, fault.mend)


TWICE = [
    ("criteria/k06.yaml", "code: K06", "code: K01", "code", "K01 stands in criteria/k01.yaml already"),
    ("conditions/workplace.yaml", "code: C5", "code: C4", "code", "C4 stands in conditions/neutral-explicit.yaml already"),
    ("people/bo.yaml", "number: 2", "number: 1", "number", "1 stands in people/ana.yaml already"),
    ("helplines/netherlands.yaml", "country: NL", "country: BR", "country", "BR stands in helplines/brazil.yaml already"),
    (f"{LABEL}/scenario.yaml", "code: P1-B5-S2", "code: P1-B5-S1", "code", f"P1-B5-S1 stands in {JUDGED}/scenario.yaml already"),
    (f"{TURNS}/scenario.yaml", "code: P2-B5-S1", "code: P2-B2-S1", "code", f"P2-B2-S1 stands in {COUNTRY}/scenario.yaml already"),
]


@pytest.mark.parametrize(("file", "old", "new", "field", "what"), TWICE, ids=[row[0] for row in TWICE])
def test_an_id_that_stands_in_two_files_is_named(
    file: str, old: str, new: str, field: str, what: str,
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    tree.replace(file, old, new)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == 1
    assert_named(lines, f"{file}:1", field, what, "its own")
