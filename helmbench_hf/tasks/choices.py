"""Which one of several options an answer names: a label, or yes and no.

An answer that names two different options is none, for either reading would be a guess. It counts where its own words take the
first back and end with the other (`A - no, E`), because a reader would take it so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_CLAUSE_END = re.compile(r"[,;:.!?()\[\]{}/|\"*`\n]|\s[-–—]+\s|—")
_TAKES_BACK = frozenset(
    {"no", "wait", "actually", "rather", "sorry", "correction", "instead", "final", "finally", "but", "reflection"}
)
_LEADS = _TAKES_BACK | {
    *("answer", "label", "letter", "option", "ticket", "category", "choice", "the", "my", "is", "it", "it's", "i", "mean"),
    *("so", "or", "and", "on", "second", "thought", "thoughts"),
}
"""Words that may stand before an option in its clause, and say nothing where they stand alone."""
WORDS = 30
"""Words of a clause that are told apart; no option stands behind so many."""


def choice(text: str, options: Sequence[str]) -> str | None:
    """Give the option that `text` names (`C`, `c.`, `(C)`, `Ticket C`, `C: the boiler`, `no crisis`), or None.

    An option is named where it is a clause of its own, so that `C: flat B has no heat` names C alone.
    """
    spelled = {letters(option): option for option in options}
    named: list[str] = []
    leading: list[str] = []
    at_head, final = True, False
    for clause in _CLAUSE_END.split(text.casefold()):
        words = clause.split(None, WORDS)
        option, before = _named(words, spelled)
        if option is None and not _LEADS.issuperset(words):
            leading, at_head = [], at_head and bool(named)
            continue
        leading += before
        if option is not None:
            final = not _TAKES_BACK.isdisjoint(leading)
            named.append(option)
            leading = []
    return named[-1] if final or (at_head and len(set(named)) == 1) else None


def _named(words: Sequence[str], spelled: Mapping[str, str]) -> tuple[str | None, Sequence[str]]:
    """The option that a clause ends with, where only leading words stand before it, and those words."""
    for at, word in enumerate(words):
        if option := spelled.get(letters("".join(words[at:]))):
            return option, words[:at]
        if word not in _LEADS or (word == "no" and len(words) > 1):
            break  # `no self-harm` denies a label; `self-harm - no, ...` takes it back
    return None, words


def letters(text: str) -> str:
    """The letters and digits of a name, without case: `no crisis`, `No-Crisis` and `no_crisis` are one."""
    return re.sub(r"[\W_]+", "", text).casefold()
