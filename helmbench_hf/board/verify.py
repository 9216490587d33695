"""`helmbench verify`: is a submission what it says? Everything that follows from its rows is computed again and compared.

The reasons have stable codes (docs/submitting.md lists them). What rows cannot show: that the model and the judges
really gave these answers is found out only by running them again.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.board import checks, files
from helmbench_hf.board.files import RejectedError, quoted
from helmbench_hf.board.manifest import FORMAT, Judge, Key, Manifest, Model, folded, read_judge, read_manifest, run_id
from helmbench_hf.board.replay import CHARACTERS_A_TOKEN, NO_ANSWER, Asked, read_journal, replay
from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.judging import rubric
from helmbench_hf.judging.grade import verdict_row
from helmbench_hf.models.keys import engine_label
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.scoring.scores import Scores, to_json

Load = Callable[[str], CaseSet]
"""The cases of a design, from where the board trusts them."""
MOST_JUDGES = 5
MOST_BY_CODE = 8
"""Verdicts of code on one reply at most: answer, label, target, control, task, resources."""
EXAMPLES = 3
"""Sentences of one code that are told."""
UNSEEN = "That the model and the judges gave these answers is the submitter's word until somebody runs them again."
HOLDS = {"copy.replies", "model.confusable"}
"""Codes that a person must look at; `board/marks.json` says what may stand beside what."""
_VERSIONS = ("name", "design", "version", "scoring_version")
_PLACE = ("case", "turn", "draw", "criterion", "grader")


class UnreadableError(Exception):
    """The submission could not be looked at: neither accepted nor rejected. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a submission is not accepted."""

    code: str
    said: str
    """The first cases in sentences."""


@dataclass(slots=True)
class Report:
    """What was found, and the run as its rows give it: nothing here is taken from what the submitter computed."""

    faults: dict[str, list[str]] = field(default_factory=dict)
    """By code, a sentence on each."""
    manifest: Manifest | None = None
    judges: list[Judge] = field(default_factory=list)
    cases: Sequence[Case] = ()
    answers: Mapping[str, Completion] = field(default_factory=dict)
    """By request name."""
    verdicts: list[Verdict] = field(default_factory=list)
    scores: Scores | None = None

    def add(self, code: str, said: str) -> None:
        """Note a fault."""
        self.faults.setdefault(code, []).append(said)

    @property
    def reasons(self) -> list[Reason]:
        """One for each code, in the order in which they were found, with the first few sentences."""
        found = []
        for code, said in self.faults.items():
            rest = len(said) - EXAMPLES
            found.append(Reason(code, "; ".join(said[:EXAMPLES]) + (f"; and {rest} others" if rest > 0 else "")))
        return found

    @property
    def accepted(self) -> bool:
        """Whether there is no reason against it."""
        return self.manifest is not None and not self.faults

    @property
    def held(self) -> bool:
        """Whether a person must decide: nothing is wrong but that it is nearly another run."""
        return bool(self.faults) and self.faults.keys() <= HOLDS

    def as_row(self) -> dict[str, Any]:
        """Plain JSON."""
        found: dict[str, Any] = {"accepted": self.accepted, "held": self.held}
        found["reasons"] = [asdict(each) for each in self.reasons]
        if (manifest := self.manifest) is not None:
            found |= {"model": manifest.model.id, "run_id": manifest.run_id, "place": manifest.place}
            found |= {"design": manifest.dataset.design, "printed": self.scores.headline.printed if self.scores else None}
        return found

    def summary(self) -> str:
        """For a terminal or a comment under a pull request; printable ASCII, whatever the submission holds."""
        head = "accepted" if self.accepted else "HELD for a person" if self.held else "REJECTED"
        if self.manifest is not None:
            head += f": {self.manifest.model.id}, run {self.manifest.run_id}"
        lines = [head, *(f"- {each.code}: {each.said}" for each in self.reasons)]
        lines += [f"  {UNSEEN}"] if self.accepted else []
        return re.sub(r"[^\x20-\x7e\n]", "?", "\n".join(lines))


def verify(root: Path, load: Load) -> Report:
    """Check the submission in the folder `root`. `load` gives the cases of a design, from a source that the board trusts.

    Raises UnreadableError where the folder cannot be read, or was written by a later version; DatasetError where the cases
    cannot be loaded.
    """
    found = Report()
    try:
        content = files.read_folder(root)
        _verify(content, load, default_benchmark(), found)
        place, manifest = root.resolve(), found.manifest
        if manifest and "submissions" in place.parts and place.parts[-3:] != tuple(manifest.place.split("/")):
            found.add("files.place", f"the submission belongs into {manifest.place}")
    except RejectedError as error:
        found.add(error.code, error.said)
    except RecursionError:
        found.add("json.deep", "a file nests too deep")
    except OSError as error:
        raise UnreadableError(f"{root} cannot be read ({error.strerror}); give the folder of one submission") from error
    return found


def _verify(content: Mapping[str, bytes], load: Load, benchmark: Benchmark, found: Report) -> None:
    manifest = found.manifest = _manifest(content)
    judges = found.judges = _judges(content, found)
    loaded = load(manifest.dataset.design)
    found.cases, draws = loaded.cases, manifest.chosen().draws
    _check_versions(manifest, judges, loaded, benchmark, found)
    _check_identities(manifest, judges, found)
    given = files.parse_json(content[files.SCORES], files.SCORES)
    if found.faults:
        return
    names = sorted({path.split("/")[1] for path in content if path.startswith(f"{files.CHECKS}/")})
    cited = {name: checks.recheck(content, name, benchmark) for name in names}
    planned = sum(case.most_turns for case in loaded.cases) * draws
    graded = sum(len(case.grading.turns) for case in loaded.cases) * draws
    rows = read_journal(content[files.COMPLETIONS], files.COMPLETIONS, planned, judge=False)
    said: dict[str, list[Completion]] = {}
    for judge in judges:
        name = f"{files.JUDGMENTS}/{judge.id}/{files.SEGMENT}"
        said[judge.id] = read_journal(content[name], name, graded * len(benchmark.criteria) * judge.orders, judge=True)
    judged = [(judge, _by_key(said[judge.id])) for judge in judges]
    if (files.ACTS in content) != (manifest.router is not None):
        raise RejectedError("files.missing", "acts and the manifest's router go together, and one of them is missing")
    acts = read_journal(content[files.ACTS], files.ACTS, planned, judge=True) if manifest.router else []
    replayed = replay(loaded, manifest, _by_key(rows), judged, benchmark, _by_key(acts))
    found.answers, found.verdicts = replayed.answers, replayed.verdicts
    _check_rows(rows, replayed.asked, bool(manifest.key.template_sha), "rows", found)
    if manifest.router is not None:
        _check_rows(acts, replayed.sorts, bool(manifest.router.key.template_sha), "rows", found)
    for name in replayed.missing:
        found.add("rows.missing", f"there is no row of {name}")
    for judge in judges:
        _check_judge(judge, said[judge.id], replayed.questions[judge.id], found)
    most = graded * (MOST_BY_CODE + len(judges) * len(benchmark.criteria))
    _check_verdicts(files.json_lines(content[files.VERDICTS], files.VERDICTS, most), replayed.verdicts, found)
    if not found.faults:
        found.scores = replayed.scores(loaded, manifest, judges, cited, benchmark)
        if short := too_little(found.scores, benchmark.scoring.minimum_coverage):
            found.add("scores.coverage", short)
        for where in differing(given, plain(to_json(found.scores)), "scores"):
            found.add("scores.edited", f"{quoted(where)} is not what the rows give")


def _by_key(rows: Sequence[Completion]) -> dict[str, Completion]:
    """The first row of each key."""
    return {row.key: row for row in reversed(rows)}


def _manifest(content: Mapping[str, bytes]) -> Manifest:
    """The manifest, and the files that it names: each is there, unchanged, and nothing else is."""
    if files.MANIFEST not in content:
        raise RejectedError("files.missing", "manifest.json is missing; make the submission with `helmbench submit --export`")
    raw = files.parse_json(content[files.MANIFEST], files.MANIFEST)
    origin = raw.get("submission") if isinstance(raw, dict) else None
    stated = origin.get("format") if isinstance(origin, dict) else None
    if type(stated) is int and stated > FORMAT:
        raise UnreadableError(
            f"the submission has format {stated}, but this version of helmbench reads {FORMAT}; update helmbench"
        )
    manifest = read_manifest(raw)
    there, named = set(content) - {files.MANIFEST}, manifest.submission.files
    if lost := sorted(({files.COMPLETIONS, files.VERDICTS, files.SCORES} | set(named)) - there):
        raise RejectedError("files.missing", f"{quoted(lost[0])} is missing")
    if unnamed := sorted(there - set(named)):
        raise RejectedError("files.unknown", f"the manifest does not name {quoted(unnamed[0])}")
    for name, file in named.items():
        if (file.sha256, file.bytes) != (sha_of(content[name]), len(content[name])):
            raise RejectedError("files.hash", f"{name} is not the file that the manifest names: its hash or size differs")
    if run_id(raw) != manifest.run_id:
        raise RejectedError("manifest.run-id", "run_id is not the hash of the manifest: it was edited after it was made")
    return manifest


def _judges(content: Mapping[str, bytes], found: Report) -> list[Judge]:
    """The judges in their order. Two judges are two names and two sets of weights, however these are written."""
    inside = [path for path in content if path.startswith(f"{files.JUDGMENTS}/")]
    folders = sorted({path.split("/")[1] for path in inside})
    judges = []
    for folder in folders:
        path, rows = (f"{files.JUDGMENTS}/{folder}/{name}" for name in (files.JUDGE, files.SEGMENT))
        if path not in content or rows not in content:
            raise RejectedError("files.missing", f"{files.JUDGMENTS}/{folder} lacks judge.json or the judge's answers")
        judges.append(read_judge(files.parse_json(content[path], path), path))
        if judges[-1].id != folder:
            found.add("judge.field", f"{path} describes the judge {judges[-1].id}")
    names = [folded(judge.id) for judge in judges]
    if len(set(names)) < len(names) or "code" in names or len(judges) > MOST_JUDGES:
        found.add("judge.field", f"two judges have one name, one is called `code`, or there are more than {MOST_JUDGES}")
    if len({judge.number for judge in judges}) < len(judges):
        found.add("judge.field", "two judges have the same number")
    named: dict[str, set[str]] = defaultdict(set)
    for judge in judges:
        named[f"family {judge.family.casefold()}"].add(judge.family)
        named[judge.model.weights].add(judge.family)
    for shared in named.values():
        if len(shared) > 1:
            found.add("judge.family", f"{' and '.join(sorted(shared))} are one family: one set of weights or one name")
    return sorted(judges, key=lambda judge: (judge.number, judge.id))


def _check_versions(manifest: Manifest, judges: Sequence[Judge], loaded: CaseSet, benchmark: Benchmark, found: Report) -> None:
    ours, theirs = loaded.identity, manifest.dataset
    facts = [("dataset.version", name, getattr(theirs, name), getattr(ours, name)) for name in _VERSIONS]
    facts.append(("harness.version", "helmbench", manifest.helmbench, __version__))
    for code, name, given, here in facts:
        if given != here:
            found.add(code, f"{name} is {quoted(given)}, and here it is {here}")
    if ours.content_sha256 != theirs.content_sha256:
        found.add("dataset.content", "the content hash is not that of the dataset here: other cases were asked")
    for judge in judges:
        if judge.rubric.model_dump() != rubric.identity(benchmark):
            found.add("judge.rubric", f"{judge.id} answered a judge prompt or criteria of another version of helmbench")


def _check_identities(manifest: Manifest, judges: Sequence[Judge], found: Report) -> None:
    """What names a model must be what its keys rest on."""
    listed = [("model.identity", "the model", manifest.model, manifest.key)]
    listed += [("judge.identity", judge.id, judge.model, judge.key) for judge in judges]
    listed += [("router.identity", "the router", manifest.router.model, manifest.router.key)] if manifest.router else []
    for code, who, model, key in listed:
        if problem := _unlike(model, key):
            found.add(code, f"{problem} of {who} is not what its keys rest on")
    if (manifest.model.id.count("/") == 1) != bool(manifest.model.commit) and not manifest.model.served:
        found.add("model.name", "a model named owner/name has its commit on the Hub, and a local folder has neither")
    engine, label = manifest.engine, manifest.key.engine
    numbered = re.match(r"[0-9]+\.[0-9]", engine.version)
    if label != engine.name and not (numbered and label == engine_label(engine.name, engine.version)):
        found.add("model.identity", "the engine is not the one that the keys rest on")


def _unlike(model: Model, key: Key) -> str:
    named = model.for_key()
    if {name: value for name, value in key.model.items() if name != "extra"} != named or not any(
        (model.commit, model.files_sha, model.served)
    ):
        return "the identity"
    return "the chat template" if model.template_sha != key.template_sha else ""


def _check_rows(given: Sequence[Completion], asked: Mapping[str, Asked], rendered: bool, kind: str, found: Report) -> None:
    """Each row answers a planned request, alone, under its name, within its budget.

    Token ids cannot be rendered here without the tokenizer; but one conversation has one rendering, and two have two.
    """
    unplanned = "rows.key" if kind == "rows" else "verdict.other-reply"
    keys = set[str]()
    by_messages: dict[str, str] = {}
    by_prompt: dict[str, str] = {}
    for row in given:
        if row.key in keys:
            found.add(f"{kind}.twice", f"two rows have the key of {quoted(row.request)}")
        keys.add(row.key)
        plan = asked.get(row.key)
        if plan is None:
            found.add(unplanned, f"the key of {quoted(row.request)} belongs to no request of this plan, model and history")
            continue
        if plan.name != row.request:
            found.add(f"{kind}.name", f"the row of {plan.name} is called {quoted(row.request)}")
        if row.output_tokens > plan.budget or len(row.text) + len(row.reasoning) > CHARACTERS_A_TOKEN * plan.budget:
            found.add("rows.budget", f"{plan.name} is longer than its budget of {plan.budget} tokens can be")
        if row.status in NO_ANSWER:
            continue
        if bool(row.prompt_sha) != rendered:
            found.add("rows.prompt", f"{plan.name} {'lacks' if rendered else 'has'} the hash of a rendered prompt")
        elif rendered and by_messages.setdefault(plan.prompt, row.prompt_sha) != row.prompt_sha:
            found.add("rows.prompt", f"{plan.name} and another answer to the same messages have different prompts")
        elif rendered and by_prompt.setdefault(row.prompt_sha, plan.prompt) != plan.prompt:
            found.add("rows.prompt", f"{plan.name} and an answer to other messages have the same prompt")


def _check_judge(judge: Judge, given: Sequence[Completion], asked: Mapping[str, Asked], found: Report) -> None:
    """One judge's answers: each for the very reply that its key names, in the judge's mode, and none is missing."""
    _check_rows(given, asked, bool(judge.key.template_sha), "verdict", found)
    for row in given:
        if (judge.mode == "fast") != (row.label_logprobs is not None) and row.status in ("ok", "truncated"):
            found.add("verdict.mode", f"the answer {quoted(row.request)} of {judge.id} is not of the mode {judge.mode}")
    answered = {row.key for row in given}
    for key, plan in asked.items():
        if key not in answered:
            found.add("verdict.unanswered", f"{judge.id} has no answer to {plan.name}")


def _check_verdicts(given: Iterable[tuple[str, bytes]], verdicts: Sequence[Verdict], found: Report) -> None:
    """The verdicts are those that follow from the rows, and no others; their order says nothing."""
    stated = _by_place(files.parse_json(line, where) for where, line in given)
    expected = _by_place(plain(verdict_row(each)) for each in verdicts)
    for where in differing(stated, expected, "verdicts"):
        found.add("verdict.edited", f"{quoted(where)} is not what the answers give")


def _by_place(rows: Iterable[Any]) -> dict[str, Any]:
    """Verdicts by what they are about; the second on one place, and what is no verdict, has a place of its own."""
    found: dict[str, Any] = {}
    for row in rows:
        place = "/".join(str(row.get(name))[:80] for name in _PLACE) if isinstance(row, dict) else "no verdict"
        found[f"{place} again" if place in found else place] = row
    return found


def plain(value: Any) -> Any:
    """A record's values as they are after a journey through JSON."""
    return json.loads(json.dumps(value, allow_nan=False))


def differing(given: Any, found: Any, where: str = "", tolerance: float = 1e-9) -> Iterator[str]:
    """Where two plain JSON values differ. Types count, and fractions may differ by float noise alone."""
    if type(given) is not type(found):
        yield where
    elif isinstance(given, dict):
        for name in sorted({*given, *found}):
            if name not in given or name not in found:
                yield f"{where}.{name[:80]}"
            else:
                yield from differing(given[name], found[name], f"{where}.{name}", tolerance)
    elif isinstance(given, list):
        if len(given) != len(found):
            yield f"{where} (its length)"
        for index, (one, other) in enumerate(zip(given, found, strict=False)):
            yield from differing(one, other, f"{where}[{index}]", tolerance)
    elif given != found and not (isinstance(given, float) and math.isclose(given, found, rel_tol=tolerance, abs_tol=tolerance)):
        yield where


def sha_of(content: bytes) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(content).hexdigest()


def too_little(scores: Scores, minimum: float) -> str:
    """Why a run may not stand on a board: too little of the weight that its design plans was scored. Empty where it may."""
    coverage = scores.headline.overall.coverage
    if coverage.share >= minimum * coverage.planned_share - 1e-9:
        return ""
    share = 100 * coverage.share / coverage.planned_share
    return f"only {share:.3g}% of the weight that its design plans was scored, and {100 * minimum:g}% is the least"
