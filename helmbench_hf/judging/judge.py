"""A judge at work: what it is asked about a reply, the verdict that its answer amounts to, and the loop that asks it.

One criterion, one call. A verdict is derived from the judge's journaled completion whenever it is needed and never stored as
truth, so reading answers another way costs nothing. What cannot be read is a `judge_failure` without a value: never a FAIL,
never a pass. The process that asks a judge owns its folder: it holds the lock, writes `judge.json` and the journal.
"""

from __future__ import annotations

import json
import math
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self

from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import rubric
from helmbench_hf.judging.rubric import Exchange, Mode
from helmbench_hf.models.chat import Chat, ChatError
from helmbench_hf.models.drive import Counting, Listener, drive
from helmbench_hf.models.engine import (
    Engine,
    EngineDescription,
    EngineError,
    EngineSpec,
    Message,
    Request,
    Sampling,
    open_engine,
    split_model,
)
from helmbench_hf.models.identity import ModelIdentity, model_info
from helmbench_hf.models.keys import KeyContext, request_key
from helmbench_hf.records import CREDIT, Answer, Case, Completion, Verdict
from helmbench_hf.runs.folder import JUDGE, RunError, RunFolder, write_json
from helmbench_hf.runs.journal import Journal, run_lock
from helmbench_hf.tasks.answers import json_objects

LEAST_MASS = 0.5
"""Least probability that the letters have together; below it, the judge wanted to say something other than a verdict."""
LEAST_LEAD = 0.1
"""Least lead of the likeliest verdict over the next, as a share of the mass. Logits between 16 and 32 are an eighth apart in
bfloat16, and an eighth is a lead of .06: a smaller lead may be rounding, and another batch may round the other way."""
EVIDENCE_TOKENS = 240
"""Budget of a quote of 160 characters with its JSON, at a pessimistic one character a token."""
Row = dict[str, Any]
"""What `judge.json` says of a judge."""


class JudgeError(RunError):
    """The judge cannot be used as asked. The message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """Who judges, and how."""

    id: str
    """Names the judge's folder and its verdicts: letters, digits, `.`, `_`, `-`."""
    engine: str
    """`vllm:MODEL`, `transformers:MODEL` or `endpoint:NAME`, as for the model under test."""
    family: str
    """Model family, e.g. `qwen`; only a judge of a second family can confirm a veto."""
    mode: Literal["auto", "fast", "evidence"] = "auto"
    """auto: fast where the engine gives label probabilities and the letters are one token each, else evidence."""
    orders: Literal[1, 2] = 1
    """Fast mode: letter orders over which probabilities are averaged. 1: A = PASS; 2: that and the reverse, at twice the cost."""
    options: dict[str, Any] = field(default_factory=dict)
    """Further fields of `EngineSpec`, e.g. `{"max_model_len": 8192, "thinking": "off"}`."""
    preset: dict[str, Any] = field(default_factory=dict)
    """What a preset filled in (`Filled.record`), for `judge.json`; empty where there was none."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.id) or self.id == "code":
            raise JudgeError(
                f"{self.id!r} cannot be the id of a judge; use letters, digits, `.`, `_` and `-`, but not the word `code`."
            )
        if self.mode not in ("auto", "fast", "evidence") or self.orders not in (1, 2):
            raise JudgeError("A judge's mode must be auto, fast or evidence, and its letter orders must be 1 or 2.")

    @classmethod
    def named(cls, engine: str, **given: Any) -> Self:
        """A judge by its model alone: the id is the model's name, the family the letters that it begins with, unless given."""
        short = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(split_model(engine)[1]).name).strip("-.") or "judge"
        letters = re.match(r"[A-Za-z]+", short)
        return cls(**{"engine": engine, "id": short, "family": (letters[0] if letters else short).lower(), **given})

    def engine_spec(self) -> EngineSpec:
        """Read the engine's text. Raises `EngineError` for an unknown engine and `JudgeError` for an unknown option."""
        try:
            return EngineSpec.parse(self.engine, **self.options)
        except TypeError as error:
            names = {each.name for each in fields(EngineSpec)}
            unknown = ", ".join(name for name in self.options if name not in names)
            raise JudgeError(f"The judge {self.id} has no setting {unknown}; see --judge in `helmbench run --help`.") from error

    def as_payload(self) -> dict[str, Any]:
        """Plain JSON; `JudgeSpec(**payload)` reads it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the judge, before a tokenizer is needed."""

    name: str
    """`CODE/t1/d0/K01/fast`; the reverse letter order ends in `fast-reversed`."""
    messages: tuple[Message, ...]
    order: tuple[Answer, ...] = ()
    """Fast: the verdict of each letter. Empty: evidence."""
    schema: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The letters whose probabilities are read."""
        return rubric.LETTERS[: len(self.order)]

    @property
    def prefill(self) -> str | None:
        """How the judge's answer is begun for it."""
        return rubric.PREFILL if self.order else None

    @property
    def sampling(self) -> Sampling:
        """Greedy: a verdict is no draw."""
        return Sampling(max_tokens=1 if self.order else EVIDENCE_TOKENS)

    def key(self, context: KeyContext) -> str:
        """Content key of the call; needs no tokenizer."""
        return request_key(context, self.messages, self.sampling, schema=self.schema, prefill=self.prefill, labels=self.labels)

    def request(self, key: str, template: Chat) -> Request:
        """Render the call; one that cannot be rendered carries its refusal."""
        tokens: tuple[int, ...] = ()
        refusal = ""
        try:
            tokens = template.render(self.messages, self.prefill)
        except ChatError as error:
            refusal = str(error)
        return Request(
            key, self.name, self.messages, tokens, self.sampling, self.schema, self.prefill, self.labels,
            group=self.name.partition("/K")[0], refusal=refusal,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge before its weights are loaded."""

    spec: JudgeSpec
    template: Chat
    model: ModelIdentity
    context: KeyContext
    open: Callable[[], Engine]
    """Loads the model."""


def find_judge(spec: JudgeSpec) -> Judge:
    """Find the judge's tokenizer and name its weights. Raises `EngineError` and `JudgeError` with sentences."""
    model = model_info(spec.engine_spec())
    return Judge(spec, model.template, model.identity, model.context, lambda: open_engine(model.spec))


def key_context(row: Mapping[str, Any]) -> KeyContext:
    """What the keys of a judge's answers rest on, as `judge.json` recorded it."""
    return KeyContext(**row["key"])


def criteria_of(case: Case, turn: int | None = None) -> tuple[str, ...]:
    """The criteria that a judge decides for the reply at a graded turn (None: at any), each once."""
    grading = case.grading
    contrast = (grading.contrast,) if grading.contrast else ()
    return tuple(dict.fromkeys((*grading.criteria_at(turn), *grading.vetoes, *grading.reported, *contrast)))


def asks(exchange: Exchange, code: str, benchmark: Benchmark, mode: Mode, orders: int = 1) -> tuple[Ask, ...]:
    """The calls that decide one criterion of one reply: one, or two where letter orders are averaged."""
    criterion = benchmark.criteria.get(code)
    if criterion is None:
        raise JudgeError(f"The benchmark has no criterion {code}; a case from another version asks for it.")
    base = f"{exchange.case.code}/t{exchange.turn}/d{exchange.draw}/{code}"
    if mode == "evidence":
        said = rubric.messages(exchange, criterion, None)
        return (Ask(f"{base}/evidence", said, schema=rubric.evidence_schema(criterion)),)
    straight = rubric.verdicts(criterion)
    found = []
    for name, order in (("fast", straight), ("fast-reversed", straight[::-1]))[:orders]:
        found.append(Ask(f"{base}/{name}", rubric.messages(exchange, criterion, order), order))
    return tuple(found)


def resolve_mode(spec: JudgeSpec, template: Chat, described: EngineDescription) -> Mode:
    """The mode in which this judge works. Raises `JudgeError` where `fast` was asked for and cannot be."""
    reason = _why_not_fast(template, described)
    if spec.mode == "fast" and reason:
        raise JudgeError(f"The judge {spec.id} cannot work in fast mode: {reason} Use evidence or auto mode.")
    return "evidence" if reason or spec.mode == "evidence" else "fast"


def _why_not_fast(template: Chat, described: EngineDescription) -> str:
    if "label_logprobs" not in described.abilities:
        return f"the engine {described.name} gives no label probabilities."
    if template.facts.opens_reasoning:
        return "its chat template opens reasoning before every answer."
    try:
        template.label_ids(rubric.LETTERS, rubric.PREFILL)
    except EngineError as error:
        return str(error)
    return ""


Read = tuple[Answer | None, dict[str, Any]]


def verdict(
    exchange: Exchange, code: str, judge: str, asked: Sequence[tuple[Ask, str]], answers: Mapping[str, Completion]
) -> Verdict:
    """Derive one verdict from the judge's answers; `asked` holds the calls with their keys.

    Fast: the verdict with the highest probability, normalized over the letters; `detail` has `p`, the raw `mass` and the
    letter `orders`. Evidence: the verdict that was written; `detail` has the `quote`, which is in the reply or empty.
    A `judge_failure` names its `reason`: missing | refused | engine_error | withheld | no_logprobs | low_mass | tie (no verdict
    leads by `LEAST_LEAD`) | truncated | unparseable | quote_not_found. PASS and FAIL fail alike, so that nobody gains by it.
    """
    completions = [answers.get(key) for _, key in asked]
    done = [completion for completion in completions if completion is not None]
    said: Answer | None = None
    if reason := _unanswered(completions):
        detail: dict[str, Any] = {"reason": reason}
    elif asked[0][0].order:
        said, detail = _fast([ask for ask, _ in asked], done)
    else:
        said, detail = _evidence(exchange, asked[0][0], done[0])
    where = (exchange.case.code, exchange.turn, exchange.draw, code, judge)
    if said is None:
        return Verdict(*where, "judge_failure", None, detail, exchange.completion)
    level = {"level": int(said)} if said.isdecimal() else {}
    return Verdict(*where, "scored", CREDIT[said], {**detail, **level}, exchange.completion)


def _unanswered(completions: Sequence[Completion | None]) -> str:
    """Why a call has no answer, or nothing."""
    for completion in completions:
        if completion is None:
            return "missing"
        if completion.status in ("refused", "engine_error", "withheld"):
            return completion.status
    return ""


def _fast(asked: Sequence[Ask], done: Sequence[Completion]) -> Read:
    reads = [_letters(ask, completion) for ask, completion in zip(asked, done, strict=True)]
    raw = [read for read in reads if read is not None]
    if len(raw) < len(reads):
        return None, {"reason": "no_logprobs"}
    masses = [sum(read.values()) for read in raw]
    detail: dict[str, Any] = {"mass": sum(masses) / len(masses), "orders": [list(ask.order) for ask in asked]}
    if min(masses) < LEAST_MASS:
        return None, {"reason": "low_mass", **detail}
    share = {word: sum(read[word] / mass for read, mass in zip(raw, masses, strict=True)) / len(raw) for word in asked[0].order}
    best, following = sorted(share, key=lambda word: share[word], reverse=True)[:2]
    detail["p"] = share
    if len({max(read, key=lambda word: read[word]) for read in raw}) > 1:
        detail["flipped"] = True
    return (best, detail) if share[best] - share[following] >= LEAST_LEAD else (None, {"reason": "tie", **detail})


def _letters(ask: Ask, completion: Completion) -> dict[Answer, float] | None:
    """Raw probability of each verdict's letter, or None where it was not read."""
    read = completion.label_logprobs
    if read is None or len(read) != len(ask.order) or any(math.isnan(value) or value > 1e-3 for value in read):
        return None
    return {word: math.exp(value) for word, value in zip(ask.order, read, strict=True)}


def _evidence(exchange: Exchange, ask: Ask, completion: Completion) -> Read:
    allowed = json.loads(ask.schema or "{}")["properties"]["verdict"]["enum"]
    if completion.status == "truncated":
        return None, {"reason": "truncated"}
    read = [(found.get("quote"), found.get("verdict")) for found in json_objects(completion.text)]
    usable = [(quote, said) for quote, said in read if said in allowed and isinstance(quote, str)]
    if not usable:
        return None, {"reason": "unparseable"}
    quote, said = usable[-1]
    quote = quote.encode("utf-16", "surrogatepass").decode("utf-16", "replace")[: rubric.QUOTE_CAP]
    if not _quoted(quote, f"{exchange.answer.reply}\n{exchange.answer.work}"):
        return None, {"reason": "quote_not_found", "quote": quote}
    return said, {"quote": quote}


def _quoted(quote: str, text: str) -> bool:
    """Whether each piece of a quote is in the text, in that order. An empty quote is: what decides may be what is missing."""
    place, bare = 0, _bare(text)
    for piece in re.split(r"\.\.\.|…", quote):
        place = bare.find(_bare(piece), place)
        if place < 0:
            return False
        place += len(_bare(piece))
    return True


def _bare(text: str) -> str:
    """Text as quotes are compared: letters and digits alone, without case and the signs by which JSON writes line breaks."""
    return "".join(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold().replace("\\n", " ")))


def ask_judge(
    folder: RunFolder,
    judge: Judge,
    pairs: Iterable[tuple[Exchange, str]],
    benchmark: Benchmark,
    listener: Listener,
    *,
    orders: int | None = None,
) -> dict[str, Any] | None:
    """Ask the judge about each (reply, criterion) that has no answer in `folder.judgments` yet, under the judge's lock.

    Asked in the order of shared prefixes; each answer is journaled as it comes. Gives what the work took (`Counting.totals`),
    None where nothing was left to ask. `orders`: letter orders that are asked in fast mode; None: those over which this
    judge's verdicts are averaged. Raises `JudgeError` where another judge has this id here or `fast` cannot be,
    `JournalError` where another process writes this judge's folder, `EngineError` where the engine died for good.
    """
    place = folder.judgments / judge.spec.id
    with run_lock(place):
        engine, row = _settle(folder, judge, benchmark, listener)
        wanted = {
            ask.key(judge.context): ask
            for reply, code in pairs
            for ask in asks(reply, code, benchmark, row["mode"], orders or row["orders"])
        }
        stored = Journal.read(place)
        if stored.passed.places:
            listener.emit({"event": "note", "message": str(stored.passed)})
        # what varies is in the last message, what varies most at its end: sorted by text, prompts that begin alike are neighbors
        work = sorted((key for key in wanted if key not in stored), key=lambda key: wanted[key].messages[-1].content)
        done = len(wanted) - len(work)
        listener.emit({"event": "planned", "turns": len(wanted), "stored": done, "open": len(work)})
        if not work:
            return None
        with Journal.open(place, "judge") as journal:
            engine = engine or _open(judge, listener, row)
            counter = Counting(listener, len(wanted), done)

            def save(completion: Completion) -> None:
                journal.append(completion)
                counter.count(completion)

            # rendered as the window has room: the token ids of a whole run would not fit in memory
            requests = (wanted[key].request(key, judge.template) for key in work)
            driven = drive(engine, requests, lambda request, completion: None, save, stop=listener.stopping)
        totals = counter.totals()
        listener.emit({"event": "end", "stopped": driven.stopped, "retried": driven.retried, **totals})
        return totals


def _settle(folder: RunFolder, judge: Judge, benchmark: Benchmark, listener: Listener) -> tuple[Engine | None, Row]:
    """Write `judge.json`, after a check that it names this judge. The engine is opened only where its abilities decide."""
    spec, engine_spec, path = judge.spec, judge.spec.engine_spec(), folder.judgments / judge.spec.id / JUDGE
    old = folder.judge(spec.id)
    context = {**asdict(judge.context), "model": dict(judge.context.model)}
    if old is not None and old["key"] != context:
        raise JudgeError(
            f"{path.parent} holds the answers of another model, engine or template under the id {spec.id}. "
            "Give this judge another id, or remove that folder."
        )
    new: Row = {
        "id": spec.id,
        "family": spec.family,
        "engine": f"{engine_spec.kind}:{engine_spec.shown}",
        "number": old["number"] if old else len(folder.judges()),
        "orders": spec.orders,
        "rubric": rubric.identity(benchmark),
        "key": context,
        "model": asdict(judge.model),
        "chat": asdict(judge.template.facts),
        **({"preset": spec.preset} if spec.preset else {}),
    }
    if old is not None and spec.mode in ("auto", old["mode"]):
        engine, settled = None, {name: old[name] for name in ("mode", "description")}
    else:
        engine = _open(judge, listener, old)
        described = engine.describe()
        settled = {"mode": resolve_mode(spec, judge.template, described), "description": asdict(described)}
    write_json(path, {**new, **settled})
    return engine, {**new, **settled}


def _open(judge: Judge, listener: Listener, before: Row | None) -> Engine:
    """Open the engine. Raises `JudgeError` where its server now offers another model under the name that `before` records."""
    began = time.monotonic()
    engine = judge.open()
    seconds = time.monotonic() - began
    if before is not None and not engine.describe().continues(before["description"]):
        raise JudgeError(
            f"The server of the judge {judge.spec.id} now offers a different model under the same name; the verdicts of "
            f"the two must not be mixed. Serve the model that judged before, or give this judge another id."
        )
    listener.emit({"event": "ready", "load_seconds": seconds, "engine": asdict(engine.describe())})
    return engine
