"""`helmbench verify`: is a submission what it says? Everything that follows from its rows is computed again and compared.

The reasons have stable codes (docs/submitting.md lists them). What rows cannot show stands in the notes: that the model and the
judges really gave these answers is found out only by running them again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.generate.turns import Settings
from helmbench_hf.grading import rubric
from helmbench_hf.leaderboard import checks, files
from helmbench_hf.leaderboard.files import RejectedError, quoted
from helmbench_hf.leaderboard.manifest import FORMAT, Judge, Key, Manifest, Model, read_manifest, run_id
from helmbench_hf.leaderboard.recompute import Answers, Judged, code_verdicts, find_answers, find_judged, find_scores
from helmbench_hf.leaderboard.report import Found, Report
from helmbench_hf.leaderboard.rows import differing, place_of, read_completions, verdict_row
from helmbench_hf.leaderboard.submission import sha_of, too_little
from helmbench_hf.records import Completion, Verdict
from helmbench_hf.scoring.result import FORMAT as SCORES_FORMAT

Load = Callable[[str], CaseSet]
"""The cases of a design, from where the board trusts them."""
MOST_BY_CODE = 8
"""Verdicts of code on one reply at most: answer, label, target, control, task, resources."""
CHARACTERS_A_TOKEN = 256
"""No tokenizer writes more with one token; a longer text was not written within its budget."""


class UnreadableError(Exception):
    """The submission could not be looked at: neither accepted nor rejected. The message is a sentence."""


def verify(root: Path, load: Load) -> Report:
    """Check the submission in the folder `root`. `load` gives the cases of a design, from a source that the board trusts.

    Raises UnreadableError where the folder cannot be read, or was written by a later version; DatasetError where the cases
    cannot be loaded.
    """
    report, found = Report(), Found()
    try:
        _verify(root, load, report, found)
    except RejectedError as error:
        found.add(error.code, error.said)
    except OSError as error:
        raise UnreadableError(f"{root} cannot be read ({error.strerror}); give the folder of one submission") from error
    report.reasons += found.reasons()
    return report


def _verify(root: Path, load: Load, report: Report, found: Found) -> None:
    benchmark, content = default_benchmark(), files.read_folder(root)
    manifest = _manifest(content, root)
    report.manifest = manifest
    loaded = load(manifest.dataset.design)
    _check_versions(manifest, loaded, benchmark, found)
    _check_identities(manifest, found)
    cited = {
        name: checks.read(files.parse_json(content[path], path), path, benchmark)
        for path in sorted(content)
        if (name := _check_name(path))
    }
    given = files.parse_json(content[files.SCORES], files.SCORES)
    if found.counts:
        return
    settings = manifest.chosen()
    answers, rows = _answers(content, manifest, loaded, settings, found)
    verdicts = list(code_verdicts(loaded.cases, answers, settings.draws, benchmark))
    for judge in manifest.judges:
        verdicts += _judge(content, judge, loaded, answers, settings, benchmark, found)
    replies = sum(len(case.grading.turns) for case in loaded.cases) * settings.draws
    most = replies * (MOST_BY_CODE + len(manifest.judges) * len(benchmark.criteria))
    _check_verdicts(files.json_lines(content[files.VERDICTS], files.VERDICTS, most), verdicts, found)
    report.notes += _notes(manifest, rows, cited)
    if not found.counts:
        report.scores = find_scores(
            loaded.cases, verdicts, [judge.row() for judge in manifest.judges], cited, benchmark=benchmark, draws=settings.draws,
            design=manifest.dataset.design, content_sha256=loaded.identity.content_sha256, panel=manifest.panel,
        )  # fmt: skip
        if short := too_little(report.scores, benchmark.scoring.minimum_coverage):
            found.add("scores.coverage", short)
        for where in differing(given, report.scores, "scores"):
            found.add("scores.edited", f"{quoted(where)} is not what the rows give")


def _check_name(path: str) -> str:
    folder, _, name = path.partition("/")
    return name.removesuffix(".json") if folder == files.CHECKS else ""


def _manifest(content: Mapping[str, bytes], root: Path) -> Manifest:
    """The manifest, and the files that it names: each is there, whole, and nothing else is."""
    if files.MANIFEST not in content:
        raise RejectedError("files.missing", "manifest.json is missing; make the submission with `helmbench submit --export`")
    raw = files.parse_json(content[files.MANIFEST], files.MANIFEST)
    if isinstance(raw, dict) and type(raw.get("format")) is int and raw["format"] > FORMAT:
        raise UnreadableError(f"the submission has format {raw['format']}, this helmbench reads {FORMAT}; update helmbench")
    manifest = read_manifest(raw)
    wanted = {files.COMPLETIONS, files.VERDICTS, files.SCORES, *(f"{files.JUDGMENTS}/{j.id}.jsonl.gz" for j in manifest.judges)}
    there = set(content) - {files.MANIFEST}
    if lost := sorted((wanted | set(manifest.files)) - there):
        raise RejectedError("files.missing", f"{quoted(lost[0])} is missing")
    if more := sorted(name for name in there - wanted if not _check_name(name)):
        raise RejectedError("files.unknown", f"{quoted(more[0])} belongs to no judge of this submission")
    if unnamed := sorted(there - set(manifest.files)):
        raise RejectedError("files.unknown", f"the manifest does not name {quoted(unnamed[0])}")
    for name, file in manifest.files.items():
        if (file.sha256, file.bytes) != (sha_of(content[name]), len(content[name])):
            raise RejectedError("files.hash", f"{name} is not the file that the manifest names: its hash or size differs")
    if run_id(raw) != manifest.run_id:
        raise RejectedError("manifest.run-id", "run_id is not the hash of the manifest: it was edited after it was made")
    place = root.resolve()
    if "submissions" in place.parts and place.parts[-3:] != tuple(manifest.place.split("/")):
        raise RejectedError("files.place", f"the submission belongs into {manifest.place}")
    return manifest


def _check_versions(manifest: Manifest, loaded: CaseSet, benchmark: Benchmark, found: Found) -> None:
    ours, theirs = loaded.identity, manifest.dataset
    for name in ("name", "design", "version", "scoring_version"):
        if getattr(ours, name) != getattr(theirs, name):
            found.add("dataset.version", f"{name} is {quoted(getattr(theirs, name))}, the dataset here has {getattr(ours, name)}")
    if theirs.tag != f"v{theirs.version}":
        found.add("dataset.version", f"the tag {quoted(theirs.tag)} is not that of version {quoted(theirs.version)}")
    if ours.content_sha256 != theirs.content_sha256:
        found.add("dataset.content", "the content hash is not that of the dataset here: other cases were asked")
    if manifest.helmbench != __version__:
        found.add(
            "harness.version", f"made by helmbench {quoted(manifest.helmbench)}, and only {__version__} can recompute its own"
        )
    if manifest.scores_format != SCORES_FORMAT:
        found.add("scores.format", f"scores have format {manifest.scores_format}, this helmbench writes {SCORES_FORMAT}")
    for judge in manifest.judges:
        if judge.rubric.model_dump() != rubric.identity(benchmark):
            found.add("judge.rubric", f"{judge.id} answered another judge prompt or other criteria than this helmbench has")


def _check_identities(manifest: Manifest, found: Found) -> None:
    """What names a model must be what its keys rest on."""
    for who, model, key in (("the model", manifest.model, manifest.key), *((j.id, j.model, j.key) for j in manifest.judges)):
        if problem := _unlike(model, key):
            found.add(
                "model.identity" if who == "the model" else "judge.identity", f"{problem} of {who} is not what its keys rest on"
            )
    names = [judge.id for judge in manifest.judges]
    if len(set(names)) < len(names) or "code" in names:
        found.add("judge.field", "two judges have one id, or one is called `code`")
    if (manifest.model.id.count("/") == 1) != bool(manifest.model.commit) and not manifest.model.served:
        found.add("model.name", "a model named owner/name has its commit on the Hub, and a folder of one's own has neither")
    name, _, number = manifest.key.engine.partition(" ")
    engine = manifest.engine
    if engine is not None and engine.name == name and not f"{engine.version}.".startswith(f"{number}."):
        found.add("model.identity", "the engine's version is not the one that the keys rest on")


def _unlike(model: Model, key: Key) -> str:
    named = model.identity().for_key()
    if {name: value for name, value in key.model.items() if name != "extra"} != named or not any(
        (model.commit, model.files_sha, model.served)
    ):
        return "the identity"
    return "the chat template" if model.template_sha != key.template_sha else ""


def _answers(
    content: Mapping[str, bytes], manifest: Manifest, loaded: CaseSet, settings: Settings, found: Found
) -> tuple[Answers, dict[str, Completion]]:
    """The model's rows, each held against the request that its key names."""
    most = sum(len(case.turns) for case in loaded.cases) * settings.draws
    given = read_completions(content[files.COMPLETIONS], files.COMPLETIONS, most, labels=False)
    rows = _by_key(given, "rows", found)
    answers = find_answers(loaded.cases, manifest.key.context(), settings, rows)
    _check_names(given, answers.names, "rows", found)
    for name in answers.missing:
        found.add("rows.missing", f"there is no row of {name}")
    listed = [(each.request, each.reason) for each in manifest.missing]
    if Counter(listed) != Counter(answers.ended):
        found.add("rows.listed", "the answers that the manifest lists as missing, with their reasons, are not those that are")
    for row in given:
        _check_length(row, answers.budgets.get(row.key), found)
    _check_prompts(given, answers.prompts, bool(manifest.key.template_sha), found)
    return answers, rows


def _by_key(given: Sequence[Completion], code: str, found: Found) -> dict[str, Completion]:
    rows: dict[str, Completion] = {}
    for row in given:
        if row.key in rows:
            found.add(f"{code}.twice", f"two rows have the key of {quoted(row.request)}")
        rows.setdefault(row.key, row)
    return rows


def _check_names(given: Iterable[Completion], names: Mapping[str, str], code: str, found: Found) -> None:
    for row in given:
        if row.key not in names:
            found.add(f"{code}.key", f"the key of {quoted(row.request)} is that of no request of this plan, model and history")
        elif names[row.key] != row.request:
            found.add(f"{code}.name", f"the row of {names[row.key]} is called {quoted(row.request)}")


def _check_length(row: Completion, budget: int | None, found: Found) -> None:
    if budget is None:
        return
    if row.output_tokens > budget or len(row.text) + len(row.reasoning) > CHARACTERS_A_TOKEN * budget:
        found.add("rows.budget", f"{row.request} is longer than its budget of {budget} tokens can be")


def _check_prompts(given: Iterable[Completion], prompts: Mapping[str, str], rendered: bool, found: Found) -> None:
    """Token ids cannot be rendered here without the tokenizer; but one conversation has one rendering, and two have two."""
    by_messages: dict[str, str] = {}
    by_prompt: dict[str, str] = {}
    for row in given:
        if row.status in ("refused", "engine_error") or row.key not in prompts:
            continue
        if bool(row.prompt_sha) != rendered:
            found.add("rows.prompt", f"{row.request} {'lacks' if rendered else 'has'} the hash of a rendered prompt")
        elif rendered:
            messages = prompts[row.key]
            if by_messages.setdefault(messages, row.prompt_sha) != row.prompt_sha:
                found.add("rows.prompt", f"{row.request} and another answer to the same messages have different prompts")
            elif by_prompt.setdefault(row.prompt_sha, messages) != messages:
                found.add("rows.prompt", f"{row.request} and an answer to other messages have the same prompt")


def _judge(
    content: Mapping[str, bytes],
    judge: Judge,
    loaded: CaseSet,
    answers: Answers,
    settings: Settings,
    benchmark: Benchmark,
    found: Found,
) -> list[Verdict]:
    """One judge's verdicts, read again from its stored answers, each for the very reply that its key names."""
    name = f"{files.JUDGMENTS}/{judge.id}.jsonl.gz"
    most = sum(len(case.grading.turns) for case in loaded.cases) * settings.draws * len(benchmark.criteria) * judge.orders
    given = read_completions(content[name], name, most, labels=True)
    said = _by_key(given, "verdict", found)
    judged: Judged = find_judged(judge.row(), loaded.cases, answers, settings.draws, said, benchmark)
    for row in given:
        if row.key not in judged.names:
            found.add(
                "verdict.other-reply", f"{judge.id} gave its answer {quoted(row.request)} to another reply, case or criterion"
            )
        elif judged.names[row.key] != row.request:
            found.add("verdict.name", f"the answer of {judge.id} to {judged.names[row.key]} is called {quoted(row.request)}")
        if (judge.mode == "fast") != (row.label_logprobs is not None) and row.status in ("ok", "truncated"):
            found.add("verdict.mode", f"the answer {quoted(row.request)} of {judge.id} is not of the mode {judge.mode}")
    for key, asked in judged.names.items():
        if key not in said:
            found.add("verdict.unanswered", f"{judge.id} has no answer to {asked}")
    _check_prompts(given, judged.prompts, bool(judge.key.template_sha), found)
    return judged.verdicts


def _check_verdicts(given: Iterable[Any], verdicts: Sequence[Verdict], found: Found) -> None:
    expected = {place_of(row, ""): row for row in map(verdict_row, verdicts)}
    seen = set()
    for number, row in enumerate(given, 1):
        place = place_of(row, f"{files.VERDICTS}, line {number}")
        shown = quoted("/".join(map(str, place)))
        if place not in expected:
            found.add("verdict.unknown", f"nothing of this run has a verdict on {shown}")
        elif place in seen:
            found.add("verdict.twice", f"there are two verdicts on {shown}")
        elif row["completion"] != expected[place]["completion"]:
            found.add("verdict.other-reply", f"the verdict on {shown} names another reply than the one that stands there")
        elif where := next(iter(differing(row, expected[place])), None):
            found.add("verdict.edited", f"{quoted(where)} of the verdict on {shown} is not what its answer gives")
        seen.add(place)
    for place in expected:
        if place not in seen:
            found.add("verdict.missing", f"the verdict on {quoted('/'.join(map(str, place)))} is missing")


def _notes(manifest: Manifest, rows: Mapping[str, Completion], cited: Mapping[str, Any]) -> list[str]:
    found = ["That the model and the judges gave these answers is the submitter's word until somebody runs them again."]
    if manifest.model.served:
        found.append("The model is named by its server alone; nobody could verify what stood behind it.")
    elif not manifest.model.commit:
        found.append("The model is a folder of the submitter's: its files are hashed, its name is free.")
    if manifest.key.template_sha:
        found.append("Prompts were not rendered again (that needs the tokenizer); messages were checked by their keys.")
    for name in sorted(cited):
        found.append(f"The check {quoted(name)} was not repeated; its gate follows from the counts that it states.")
    ended = Counter(row.status for row in rows.values() if row.status in ("refused", "engine_error"))
    if ended:
        found.append(f"Answers missing with a reason: {ended['refused']} refused, {ended['engine_error']} engine failures.")
    if withheld := sum(row.status == "withheld" for row in rows.values()):
        found.append(f"Answers that a provider's policy withheld, and that earn nothing: {withheld}.")
    if manifest.dataset.design == "smoke":
        found.append("The design smoke is for trying the machinery; its numbers are shown on a test board alone.")
    return found
