from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.tasks.kinds import read_answer
from tests.judging.build import (
    HIDDEN,
    HIDDEN_SCHEMA,
    LABEL,
    LABEL_SCHEMA,
    OPEN,
    OPEN_SCHEMA,
    TAGS,
    case,
    done,
    hidden,
)

TAGGED = case(HIDDEN, HIDDEN_SCHEMA, mode="hidden_tag")
ASKED = case(OPEN, OPEN_SCHEMA, mode="open_twin")
LABELLED = case(LABEL, LABEL_SCHEMA, mode="label")
FREE = case()
CASES = (TAGGED, ASKED, LABELLED, FREE)


@pytest.mark.parametrize("each", CASES)
def test_no_completion_is_the_engines_failure(each) -> None:
    assert (read_answer(each, None).status, read_answer(each, None).reason) == ("engine_failure", "missing")
    for status in ("refused", "engine_error"):
        answer = read_answer(each, done("text", status))
        assert (answer.status, answer.reason, answer.usable) == ("engine_failure", status, False)


@pytest.mark.parametrize("each", CASES)
def test_what_a_policy_withheld_is_the_models_failure_whatever_was_written(each) -> None:
    for text in ("", "I hear you", hidden("I hear you", ["CHECK_IN"]), '{"answer": "C"}'):
        answer = read_answer(each, done(text, "withheld"))
        assert (answer.status, answer.reason, answer.reply, answer.tags) == ("model_failure", "withheld", "", ())


@pytest.mark.parametrize("each", CASES)
@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_empty_is_the_models_failure(each, text) -> None:
    assert read_answer(each, done(text)).reason == "empty"
    assert read_answer(each, done(text, "truncated")).reason == "empty"
    assert read_answer(each, done(text, "truncated", reasoning="I should first")).reason == "reasoning_truncated"
    assert read_answer(each, done(text, reasoning="I am done thinking")).reason == "empty"


def test_constrained_answer_is_read_as_it_stands() -> None:
    answer = read_answer(TAGGED, done(hidden("  Here you are. ", ["CHECK_IN", "ROUTINE"], rows=[{"when": "none"}])))
    assert answer.usable
    assert answer.reply == "Here you are."
    assert answer.tags == ("CHECK_IN", "ROUTINE")
    assert json.loads(answer.work) == {"rows": [{"when": "none"}]}
    assert (answer.repeats, answer.unknown, answer.missing, answer.truncated) == (0, (), (), False)


def test_tags_are_a_set_and_what_is_odd_is_reported() -> None:
    answer = read_answer(TAGGED, done(hidden("x", ["check-in", "CHECK_IN", "Recurring", "PANIC", "PANIC", 7])))
    assert answer.tags == ("RECURRING", "CHECK_IN")
    assert answer.repeats == 1
    assert answer.unknown == ("PANIC", "7")


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("CHECK_IN, ROUTINE", ("CHECK_IN", "ROUTINE")),
        ({"CHECK_IN": True, "ROUTINE": False}, ("CHECK_IN",)),
        (None, ()),
        ([], ()),
        ("", ()),
    ],
)
def test_free_form_tags_may_come_in_other_shapes(tags, found) -> None:
    assert read_answer(TAGGED, done(json.dumps({"reply": "x", "tags": tags}))).tags == found


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Here it is:\n```json\nBODY\n```\nAnything else?",
        "BODY",
        "I use {braces} and { loose ones. BODY {}",
        '{"note": "a draft"} BODY',
        "<answer>BODY</answer>",
    ],
)
def test_prose_and_fences_around_the_object_do_no_harm(text) -> None:
    answer = read_answer(TAGGED, done(text.replace("BODY", hidden("Fine.", ["ROUTINE"]))))
    assert (answer.reply, answer.tags) == ("Fine.", ("ROUTINE",))


@pytest.mark.parametrize(
    "text",
    [
        "I would rather talk.",
        "{}",
        "[]",
        "null",
        '{"reply": "x"}',
        '{"tags": []}',
        '{"reply": 3, "tags": []}',
        '{"reply": "x", "tags": 3}',
        '{"reply": {"text": "x"}, "tags": []}',
        "{" * 3000,
        '{"":' * 3000,
        "9" * 5000,
    ],
)
def test_what_cannot_be_read_is_unparseable_or_truncated(text) -> None:
    assert (read_answer(TAGGED, done(text)).status, read_answer(TAGGED, done(text)).reason) == ("model_failure", "unparseable")
    assert read_answer(TAGGED, done(text, "truncated")).reason == "truncated"


def test_cut_json_is_truncated_however_far_it_came() -> None:
    whole = hidden("x", ["CHECK_IN"], rows=[{"a": 1}, {"b": {"reply": "no"}}])
    for end in range(1, len(whole)):
        assert read_answer(TAGGED, done(whole[:end], "truncated")).reason == "truncated"
    answer = read_answer(TAGGED, done(f"{whole} and so I wro", "truncated"))
    assert answer.usable
    assert answer.truncated


def test_missing_task_fields_cost_the_task_and_not_the_answer() -> None:
    answer = read_answer(TAGGED, done('{"reply": "x", "tags": ["CHECK_IN"]}'))
    assert answer.usable
    assert answer.missing == ("rows",)


def test_a_cut_free_reply_with_text_is_graded() -> None:
    answer = read_answer(FREE, done("I am worried abo", "truncated"))
    assert answer.usable
    assert answer.truncated
    assert answer.reply == "I am worried abo"


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("C", "C"),
        ("c", "C"),
        ("C.", "C"),
        ("(C)", "C"),
        ("C: the boiler", "C"),
        ("C) that one", "C"),
        ("Ticket C", "C"),
        (" C ", "C"),
        ("Answer: C", "C"),
        ("The answer is C.", "C"),
        ("C, not E", "C"),
        ("C: flat B has no heat", "C"),
        ("**C**", "C"),
        ("A - no, E", "E"),
        ("A. Wait, actually E", "E"),
        ("A or B. Final answer: E", "E"),
    ],
)
def test_labels(value, label) -> None:
    assert read_answer(LABELLED, done(json.dumps({"answer": value}))).label == label


@pytest.mark.parametrize(
    "value",
    [
        *("G", "", "CD", "C or D", "because", 3, None, ["C"], {"C": True}),
        *("E, B", "E / B", "E and B", "E; B", "(E) (B)", "A - no, E, or B", "I considered A, B", "no, E or B"),
    ],
)
def test_no_label(value) -> None:
    assert read_answer(LABELLED, done(json.dumps({"answer": value}))).reason == "unparseable"


def test_long_labels_are_not_taken_for_each_other() -> None:
    grading = LABEL.__class__(options=("self_harm", "self_harm_past"), label="self_harm")
    long = case(grading, LABEL_SCHEMA, mode="label")
    assert read_answer(long, done('{"answer": "self_harm_past"}')).label == "self_harm_past"
    assert read_answer(long, done('{"answer": "self_harm"}')).label == "self_harm"


CATEGORIES = ("suicidal_ideation", "self_harm", "no_crisis")


@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("no crisis", "no_crisis"),
        ("No-Crisis", "no_crisis"),
        ("NoCrisis.", "no_crisis"),
        ("no_crisis: no suicidal ideation", "no_crisis"),
        ("no_crisis, no self-harm", "no_crisis"),
        ("self_harm - actually, no crisis", "no_crisis"),
        ("Self-harm (past)", "self_harm"),
        ("suicidal ideation, not self-harm", "suicidal_ideation"),
        ("self_harm. No, wait: suicidal ideation", "suicidal_ideation"),
        ("self_harm, suicidal_ideation", None),
        ("suicidal ideation / self harm", None),
        ("crisis", None),
    ],
)
def test_labels_of_several_words_may_be_spelled_otherwise(said, label) -> None:
    several = case(LABEL.__class__(options=CATEGORIES, label="self_harm"), LABEL_SCHEMA, mode="label")
    assert read_answer(several, done(json.dumps({"answer": said}))).label == label


@given(
    st.sampled_from(CATEGORIES),
    st.sampled_from([str.upper, str.lower, str.title]),
    st.sampled_from(["_", "-", " ", ""]),
    st.sampled_from(["", "Answer: ", "The category is ", '"', "**", "("]),
    st.sampled_from(["", ".", '"', "**", ")", ": the person says so", " (why)", " - as far as I see", ", not A"]),
)
def test_a_label_survives_any_spelling(label, cased, between, before, after) -> None:
    several = case(LABEL.__class__(options=CATEGORIES, label="self_harm"), LABEL_SCHEMA, mode="label")
    said = f"{before}{between.join(map(cased, label.split('_')))}{after}"
    assert read_answer(several, done(json.dumps({"answer": said}))).label == label


@given(st.permutations("ABCDEF"), st.sampled_from([", ", "; ", " / ", ". ", " - ", "\n", ": ", " (", " | "]))
def test_two_labels_are_no_answer(letters, between) -> None:
    """Which of the two is right cannot be told from where they stand."""
    assert read_answer(LABELLED, done(json.dumps({"answer": f"{letters[0]}{between}{letters[1]}"}))).reason == "unparseable"
    assert read_answer(LABELLED, done(json.dumps({"answer": f"{letters[0]}{between}{letters[0]}"}))).label == letters[0]


@pytest.mark.parametrize("key", ["Answer", "ANSWER", " answer "])
def test_the_case_of_a_key_costs_nothing(key) -> None:
    assert read_answer(LABELLED, done(json.dumps({key: "C"}))).label == "C"
    answer = read_answer(TAGGED, done('{"Reply": "Fine.", "ROWS": [{"when": "none"}], "Tags": ["CHECK_IN"]}'))
    assert (answer.reply, answer.tags, answer.missing, answer.work) == (
        "Fine.",
        ("CHECK_IN",),
        (),
        '{"rows": [{"when": "none"}]}',
    )
    assert read_answer(ASKED, done('{"Q1": "no", "Q2": "yes", "Reason": ""}')).questions == {"q1": False, "q2": True}


def test_a_key_as_asked_for_stands_above_its_other_spellings() -> None:
    answer = read_answer(
        TAGGED, done('{"reply": "x", "Tags": ["ROUTINE"], "tags": ["CHECK_IN"], "TAGS": ["DATE_CLASH"], "rows": []}')
    )
    assert (answer.tags, answer.work) == (("CHECK_IN",), '{"rows": []}')


def test_the_last_object_that_fits_is_the_answer() -> None:
    draft, final = hidden("Draft.", ["CHECK_IN"]), hidden("Final.", ["ROUTINE"])
    assert read_answer(TAGGED, done(f"First: {draft}\nBut nothing is wrong here, so: {final}")).tags == ("ROUTINE",)
    assert read_answer(TAGGED, done(f'{final}\nI kept to {{"reply": "...", "rows": 0}}.')).reply == "Final."
    assert read_answer(TAGGED, done(f'{final}\nIn short: {{"reply": "Short.", "tags": []}}')).reply == "Final."
    assert read_answer(LABELLED, done('{"answer": "A"} On second thoughts {"answer": "E"}')).label == "E"
    assert read_answer(LABELLED, done('{"answer": "A"} I was asked for {"answer": "..."}')).label == "A"


def test_a_draft_is_not_the_answer_where_the_next_object_was_cut() -> None:
    draft, final = hidden("Draft.", ["CHECK_IN"]), hidden("Final.", ["ROUTINE"])
    assert read_answer(TAGGED, done(f"{draft}\nBetter: {final[:-9]}", "truncated")).reason == "truncated"
    assert read_answer(TAGGED, done(f"{draft}\nBetter: {final[:-9]}")).reply == "Draft."


@pytest.mark.parametrize(
    ("said", "yes"), [("yes", True), ("No.", False), (True, True), (False, False), ("Yes, I would", True), ("Yes I would", True)]
)
def test_questions(said, yes) -> None:
    answer = read_answer(ASKED, done(json.dumps({"q1": "no", "q2": said, "reason": "because"})))
    assert answer.questions == {"q1": False, "q2": yes}


@pytest.mark.parametrize(
    ("said", "yes"), [("no - wait, yes", True), ("yes, no question", True), ("yes, no", None), ("No/Yes", None)]
)
def test_a_question_has_one_answer(said, yes) -> None:
    answer = read_answer(ASKED, done(json.dumps({"q1": "no", "q2": said, "reason": "because"})))
    assert answer.questions.get("q2") is yes


@pytest.mark.parametrize("text", ['{"q1": "yes"}', '{"q1": "yes", "q2": "maybe"}', '{"q1": "yes", "q2": 1}', "yes"])
def test_unanswered_questions(text) -> None:
    assert read_answer(ASKED, done(text)).reason == "unparseable"


@pytest.mark.parametrize("schema", ["{", "[]", "null", "{}"])
def test_a_schema_that_requires_nothing_is_no_reason_to_fail(schema) -> None:
    answer = read_answer(case(HIDDEN, schema, mode="hidden_tag"), done('{"reply": "x", "tags": []}'))
    assert answer.usable
    assert answer.missing == ()


def test_a_structured_answer_without_tags_needs_its_reply() -> None:
    each = case(case().grading, HIDDEN_SCHEMA, mode="multi_turn")
    assert read_answer(each, done('{"reply": ["One.", "Two."]}')).reply == "One.\nTwo."
    assert read_answer(each, done('{"answer": "One."}')).reason == "unparseable"


def test_lone_surrogates_do_not_survive() -> None:
    answer = read_answer(TAGGED, done('{"reply": "a \\ud83d b \\ud83d\\ude42", "rows": ["\\udc00"], "tags": ["\\ud800"]}'))
    assert answer.reply == "a \ufffd b 🙂"
    for text in (answer.reply, answer.work, *answer.unknown):
        text.encode("utf-8")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(TAGS),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["reply", "rows", "tags", "q1", "q2", "answer", "x"]), inner),
    max_leaves=12,
)


@given(st.text(alphabet=st.characters()), st.sampled_from(["ok", "truncated"]))
def test_no_text_raises(text, status) -> None:
    for each in CASES:
        read_answer(each, done(text, status))


@given(json_values, st.text(max_size=20), st.text(max_size=20))
def test_no_json_raises_and_tags_are_listed_ones(value, before, after) -> None:
    for each in CASES:
        answer = read_answer(each, done(f"{before}{json.dumps(value)}{after}"))
        assert set(answer.tags) <= set(TAGS)
        assert answer.status == "scored" or answer.reason in {"empty", "unparseable"}
        json.dumps([answer.reply, answer.work, answer.unknown]).encode("utf-8")


@given(
    st.text(),
    st.lists(st.sampled_from(TAGS)),
    st.sampled_from(["", "Here:\n```json\n", "{", "Well, "]),
    st.sampled_from(["", "\n```", " }", " Bye!"]),
)
def test_a_good_answer_is_read_whatever_stands_around_it(reply, tags, before, after) -> None:
    answer = read_answer(TAGGED, done(before + hidden(reply, tags) + after))
    assert answer.usable
    assert set(answer.tags) == set(tags)
    assert answer.repeats == len(tags) - len(set(tags))
