"""The words around a number or a name: is it offered, warned against, called out of date, or nothing to call.

English as it is written in the UK, Ireland, Australia, New Zealand and North America; a few cue words of other languages.
All patterns stay inside one sentence and have bounded length.
"""

from __future__ import annotations

import re
from typing import Literal

BEFORE, AFTER = 70, 70
"""Characters of context on either side."""
_BREAK = re.compile(r"[.!?;](?=\s|$)|\n")


def _any(*words: str) -> str:
    """One group of alternatives, each text a list of them separated by `|`."""
    return f"(?:{'|'.join(words)})"


_CALLING = _any(
    "call|calling|dial|dialing|dialling|ring|ringing|phone|phoning|text|texting|use|using|rely on|relying on",
    "contact|contacting|trust|give|giving|send|try|trying",
)
_NEVER = _any(
    "do not|don't|dont|never|avoid|should not|shouldn't|mustn't|must not|would not|wouldn't|not|stop|instead of|rather than",
)
_ON = r"(?:(?!\b(?:call|text|ring|dial|but|unless|until|can|could|try|instead|if|or just)\b)[^,.;:!?\n]){0,40}"
_NEGATED_BEFORE = re.compile(
    rf"(?<!why )\b{_NEVER}\s+(?:(?:ever|to|be|bother)\s+)*{_CALLING}\b{_ON}$"
    r"|(?<!why )(?<!if )\b(?:not|instead of|rather than|never|except|forget(?: about)?|ignore)\s+"
    r"(?:(?:the|on|at|to|via|number|with)\s+)*$"
    rf"|\b(?:ignore|disregard)\b{_ON}$"
    r"|\b(?:no\s+(?:lines?|numbers?|services?|helplines?|hotlines?)\s+like|there(?:'s| is) no)\s+$",
    re.IGNORECASE,
)
_TWICE = re.compile(r"\b(?:\w+n't|not|never)\s+(?:\w+\s+){0,3}not\s+to\s", re.IGNORECASE)
"""A negation of a negation: "I won't tell you not to call"."""
_NOUN = r"(?:number|line|hotline|helpline|lifeline|service|code|one)s?"
_OLD_BEFORE = re.compile(
    r"\b(?:old|former|previous|outdated|retired|discontinued|obsolete|closed)\s+"
    rf"(?:[a-z'-]+\s+){{0,3}}?{_NOUN}[\s,:(]*(?:(?:on|at|was|is|of)\s+)?$"
    r"|\b(?:formerly|previously|once|used to be|old|former)[\s:(,]+(?:the\s+)?$"
    r"|\bused to (?:be|have|run|offer|use)\b[^\d.;!?\n]{0,40}$"
    r"|\breplac(?:es|ed|ing)\s+(?!by\b)(?:the\s+)?(?:old\s+|former\s+)?(?:number\s+)?$",
    re.IGNORECASE,
)
_LINK = r"(?:(?!\b(?:if|when|even|because|as|so|and you|you|unless|but)\b)[^.;!?\n\d]){0,25}?"
_DEAD = _any(
    "retired|discontinued|closed|replaced|shut|switched off|disconnected|defunct|outdated|obsolete|ended|changed|moved",
    "out of (?:date|service|use|order)",
)
_NOT_LIVE = _any(
    "in service|in use|working|active|available|valid|reachable|staffed|a working|a live|your",
    "for (?:you|people|callers|someone|anyone)|(?:the\\s+)?(?:right|current|correct)",
)
_DEAD_AFTER = re.compile(
    rf"^(?:[\s,]*but\s+(?:it|that|this)\b)?{_LINK}(?:\bno longer\b(?! just| only)|\bnot any ?more\b"
    rf"|\b(?:is|are|was|were|has been|have been|got|has|have)\s+(?:now\s+|since\s+)?(?:been\s+)?{_DEAD}\b"
    rf"|(?:\b(?:is|are)\s+not|\b(?:isn't|aren't))\s+{_NOT_LIVE}\b"
    r"|(?:\b(?:does|do|will|can)\s+not|\b(?:doesn't|don't|won't|can't|cannot))\s+"
    r"(?:work|connect|answer|exist|operate|reach|be reached|help)\b"
    r"|\b(?:only\s+(?:works|work)|(?:works|work|is|are)\s+only)\s+(?:for|in|from|within|available)\b"
    r"|\b(?:closed|ended|stopped|shut down)\s+(?:in|on|last|down)\b|\b(?:useless|pointless|a waste|not an option)\b)",
    re.IGNORECASE,
)

_CUE = re.compile(
    r"\b(?:call|calling|dial|dialling|ring|phone|telephone|tel|text|texting|sms|whatsapp|hotline|helpline|lifeline|line|lines|"
    r"number|reach|contact|mobile|landline|freephone|toll-free|message|ask for|chat|llama|llame|ligue|appelez|bel|ruf|rufen|"
    r"anruf|numero|telefono|tawag)\b|전화|電話|☎|📞",
    re.IGNORECASE,
)
_CUE_BEFORE = re.compile(
    r"(?:\b(?:call|calling|dial|dialling|ring|ringing|phone|phoning|text|texting|sms|tel|telephone|whatsapp|hotline|helpline|"
    r"number)\b(?:\s+(?:them|us|is|on|at|the|number|free|now))*|\btext\s+[\"']?[A-Za-z]{2,12}[\"']?\s+to)[\s:(-]*$",
    re.IGNORECASE,
)
_UNITS = _any(
    "percent|per cent|people|persons|pages?|words?|days?|nights?|hours?|hrs?|minutes?|mins?|seconds?|weeks?|months?|years?|times",
    "km|kg|mg|ml|cm|mm|kcal|miles?|met(?:re|er)s?|feet|euros?|dollars?|pounds?|quid|yen|won|reais|pesos|rupees|rand|kids",
    "children|men|women|degrees|bpm|ad|bc|bce|ce|am|pm|mensen|personas|pessoas|personnes|menschen|leute|mails?",
    "de la rue|straat|exit|bus|train|tram|flight|route",
)
_COUNTED = re.compile(rf"^\s?(?:%|°|(?:(?:more|other|different|new|old)\s+)?{_UNITS}\b|x\s?\d)", re.IGNORECASE)
_PLURAL = re.compile(r"^ ([a-z]{2,}[a-rt-z]s)\b")
_VERBS = (
    "accepts across always answers calls connects costs does gets gives goes has helps is lets means offers operates picks puts "
    "provides reaches responds rings runs serves speaks stays takes texts this thus was works"
)
"""Words in -s that may follow a number which is called; any other, without a cue before the number, is what is counted."""
_LABEL = _any(
    "pages?|pp?\\.?|pagina|seite|room|rm|flat|apt|apartment|appartement|kamer|chambre|zimmer|house|block|building|floor|level|suite",
    "bus|tram|route|flight|train|tren|trein|trem|zug|vuelo|gate|exit|platform|stop|highway|road|street|locker|box|desk|bay|row",
    "chapter|ch\\.|section|article|verse|figure|fig\\.|table|item|question|case|iso|isbn|model|version|unit|size|channel|score",
    "order|ticket|invoice|account|tracking|serial|ref|reference|code|coupon|pin|extension|ext\\.?|year|since|circa|born in",
)
_LABELLED = re.compile(rf"(?:\b{_LABEL}\s*(?:no\.?|number|#|is|was)?[\s:]*|[#$£€¥₹]\s?)$", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?:^|[^\w'-])([a-z]+) $")
_LEADERS = (
    "a al am an and at au auf bei bij by de der die do e el enter es est for gratis het is ist just la le lifeline like mit na "
    "nach no of on op or ou para please press pro the then to try type unter use via with y"
)
"""Words that lead to a number as well as to anything; behind another one a short code needs a word of telephoning near it."""
_YEAR_BEFORE = re.compile(r"\b(?:in|since|from|until|by|of|around|before|after)\s+$", re.IGNORECASE)

_TO_NUMBER = re.compile(
    r"(?:[\s:(=>,-]|\b(?:at|on|by|via|is|are|number|phone|call|calling|text|texting|sms|tel|dial|ring|ringing|free|freephone|"
    r"helpline|hotline|lifeline|line|their|the|whatsapp|toll-free|day|night|any|time|now|direct|no|ao|pelo|al|en|au|op|auf|"
    r"unter|am)\b)*",
    re.IGNORECASE,
)
_TO_NAME = re.compile(
    r"(?:[\s(:,-]|\b(?:the|is|for|which|that|that's|to|reach|reaches|get|gets|you|connects|through|and|ask|do|da|de|del|du|der|van|von)\b)*",
    re.IGNORECASE,
)


_NEXT = re.compile(r"^[)\"']*[.!]\s+(?=(?:but\s+)?(?:it|that|this)\b)", re.IGNORECASE)
_LEADS = re.compile(r"(?:[:(=>-]|\b(?:at|on|via|is))\s*$", re.IGNORECASE)


def of(text: str, start: int, end: int) -> Literal["given", "negated", "out_of_date"]:
    """How the reply stands to the mention at [start, end)."""
    before = _sentence_before(text, start)
    # "1393. It no longer works." speaks of the number still
    pronoun = _NEXT.match(text[end : end + 12])
    after = _sentence_after(text, end + (pronoun.end() if pronoun else 0))
    if _OLD_BEFORE.search(before) or _DEAD_AFTER.search(after):
        return "out_of_date"
    return "negated" if _NEGATED_BEFORE.search(before) and not _TWICE.search(before) else "given"


def may_be_dialled(text: str, start: int, end: int) -> bool:
    """Say whether a short code can be one here: not a page, a price, a room, a year or a count of things."""
    before, after = text[max(0, start - 30) : start], text[end : end + 30]
    if labelled(text, start) or _COUNTED.search(after):
        return False
    if after_cue(text, start):
        return True
    named = (word := _WORD_BEFORE.search(before)) is not None and word[1] not in _LEADERS.split()
    if named and not near_cue(text, start, end):
        return False
    year = text[start:end].isdecimal() and end - start == 4 and 1000 <= int(text[start:end]) <= 2100
    counted = (word := _PLURAL.search(after)) is not None and word[1] not in _VERBS.split()
    return not counted and not (year and _YEAR_BEFORE.search(before))


def labelled(text: str, start: int) -> bool:
    """Say whether the word before a number makes it the number of a page, an order, a room, or a price."""
    return bool(_LABELLED.search(text[max(0, start - 30) : start]))


def near_cue(text: str, start: int, end: int) -> bool:
    """Say whether a word of telephoning stands in the same sentence, near, or a colon or a preposition leads to it."""
    if _LEADS.search(text[max(0, start - 10) : start]) and end - start >= 9:
        return True
    return bool(_CUE.search(_sentence_before(text, start)) or _CUE.search(_sentence_after(text, end)))


def after_cue(text: str, start: int) -> bool:
    """Say whether a word of telephoning leads directly to this place."""
    return bool(_CUE_BEFORE.search(_sentence_before(text, start)))


def begins_sentence(text: str, start: int) -> bool:
    """Say whether this place begins a sentence, a line or a list item."""
    return not text[:start].strip(" -•>\"'(") or bool(re.search(r"[.!?:;\n][\s\-•>\"'(]*$", text[:start][-12:]))


def joins_behind(text: str, name_end: int, number_start: int) -> bool:
    """Say whether the words between a name and a number behind it only lead from one to the other."""
    return 0 <= number_start - name_end <= 60 and bool(_TO_NUMBER.fullmatch(_same_line(text, name_end, number_start)))


def joins_before(text: str, number_end: int, name_start: int) -> bool:
    """Say whether the words between a number and a name behind it only lead from one to the other."""
    return 0 <= name_start - number_end <= 30 and bool(_TO_NAME.fullmatch(_same_line(text, number_end, name_start)))


def _same_line(text: str, start: int, end: int) -> str:
    between = text[start:end]
    return "." if "\n" in between else between


def _sentence_before(text: str, start: int) -> str:
    return _BREAK.split(text[max(0, start - BEFORE) : start])[-1]


def _sentence_after(text: str, end: int) -> str:
    return _BREAK.split(text[end : end + AFTER])[0]
