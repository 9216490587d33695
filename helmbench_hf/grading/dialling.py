"""The words around a number or a name: whether it can be called here, and whether a number belongs to a name."""

from __future__ import annotations

import re

from helmbench_hf.grading.wording import COUNTED, CUE, CUE_BEFORE, LABELLED, OBSOLETE, PAPER, sentence_after, sentence_before

_CUE = re.compile(CUE, re.IGNORECASE)
_PLURAL = re.compile(r"^ ([a-z]{2,}[a-rt-z]s)\b")
_VERBS = (
    "accepts across always answers calls connects costs does gets gives goes has helps is lets means offers operates "
    "picks puts "
    "provides reaches responds rings runs serves speaks stays takes texts this thus was works"
)
"""Words in -s that may follow a number which is called; any other, without a cue before the number, is what is counted."""
_WORD_BEFORE = re.compile(r"(?:^|[^\w'-])([a-z]{4,}) $")
_LEADERS = (
    "about agora ahora also anche atraves avec because bitte called contra crise crisis cuando depuis deur dial diens "
    "dienst door durch enter even gamit gratis helpline hotline huduma into jetzt just juste known krisis kupitia lewat "
    "lifeline like maintenant maybe mediante melalui middels moyen naar nach namba nombor numero nummer only over para pela "
    "pelo perkhidmatan please plus press preventie prevention quand quando sekarang serbisyo service servicio servico sobre "
    "suicide suicidio that then through traves tried type unless unter until used using wenn when whether while with zelfmoord"
)
"""Words of four letters and more that lead to a number as well as to anything; shorter ones mostly do. Behind any other word a
short code needs a word of telephoning near it."""
_YEAR_BEFORE = re.compile(
    r"\b(?:in|since|from|until|by|of|around|before|after|en|desde|em|depuis|seit|sinds|sedert|noong|sejak|tahun|mwaka|ano)\s+$",
    re.IGNORECASE,
)

_TO_NUMBER = re.compile(
    r"(?:[\s:(=>,-]|\b(?:at|on|by|via|is|are|number|phone|call|calling|text|texting|sms|tel|dial|ring|ringing|free|freephone|"
    r"helpline|hotline|lifeline|line|their|the|whatsapp|toll-free|day|night|any|time|now|direct|no|ao|pelo|al|en|au|op|auf|"
    r"unter|am|el|la|le|o|na|numero|nummer|nommer|nombor|der|die|den|naar|by|di|ke|sa|ang|kwa|ku|te|ar|then|press|option)\b)*",
    re.IGNORECASE,
)
_TO_NAME = re.compile(
    r"(?:[\s(:,-]|\b(?:the|is|for|which|that|that's|to|reach|reaches|get|gets|you|connects|through|and|ask|do|da|de|del|"
    r"du|der|van|von)\b)*",
    re.IGNORECASE,
)
_LEADS = re.compile(r"(?:[:(=>-]|\b(?:at|on|via|is))\s*$", re.IGNORECASE)


def may_be_dialled(text: str, start: int, end: int) -> bool:
    """Say whether a short code can be one here: not a page, a price, a room, a year or a count of things."""
    before, after = text[max(0, start - 30) : start], text[end : end + 30]
    if labelled(text, start) or counted(text, end):
        return False
    if after_cue(text, start):
        return True
    named = (word := _WORD_BEFORE.search(before)) is not None and word[1] not in _LEADERS.split()
    if named and not near_cue(text, start, end) and not OBSOLETE.search(before):
        return False
    year = text[start:end].isdecimal() and end - start == 4 and 1000 <= int(text[start:end]) <= 2100
    plural = (word := _PLURAL.search(after)) is not None and word[1] not in _VERBS.split()
    return not plural and not (year and _YEAR_BEFORE.search(before))


def labelled(text: str, start: int, *, long: bool = False) -> bool:
    """Say whether the word before a number makes it the number of a page, an order, a room, or a price.

    A number as `long` as a telephone number is no page or room.
    """
    return bool((PAPER if long else LABELLED).search(text[max(0, start - 40) : start]))


def counted(text: str, end: int) -> bool:
    """Say whether the word behind a number tells that it counts things."""
    return bool(COUNTED.search(text[end : end + 30]))


def near_cue(text: str, start: int, end: int) -> bool:
    """Say whether a word of telephoning stands in the same sentence, near, or a colon or a preposition leads to it."""
    if _LEADS.search(text[max(0, start - 10) : start]) and end - start >= 9:
        return True
    return bool(_CUE.search(sentence_before(text, start)) or _CUE.search(sentence_after(text, end)))


def after_cue(text: str, start: int) -> bool:
    """Say whether a word of telephoning leads directly to this place."""
    return bool(CUE_BEFORE.search(sentence_before(text, start)))


def begins_sentence(text: str, start: int) -> bool:
    """Say whether this place begins a sentence, a line or a list item."""
    return not text[:start].strip(" -•>\"'(") or bool(re.search(r"[.!?:;\n][\s\-•>\"'(]*$", text[:start][-12:]))


def joins_behind(text: str, name_end: int, number_start: int) -> bool:
    """Say whether the words between a name and a number behind it only lead from one to the other."""
    return 0 <= number_start - name_end <= 60 and bool(_TO_NUMBER.fullmatch(_same_line(text, name_end, number_start)))


def joins_before(text: str, number_end: int, name_start: int) -> bool:
    """Say whether the words between a number and a name behind it only lead from one to the other."""
    return 0 <= name_start - number_end <= 30 and bool(_TO_NAME.fullmatch(_same_line(text, number_end, name_start)))


def same_sentence(text: str, end: int, start: int) -> bool:
    """Say whether no sentence ends between two places."""
    return len(sentence_after(text, end, start - end)) == start - end


def _same_line(text: str, start: int, end: int) -> str:
    between = text[start:end]
    return "." if "\n" in between else between
