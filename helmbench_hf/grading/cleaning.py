"""One spelling for what a reply may write in many: everything later reads the text that `clean` returns, and its positions."""

from __future__ import annotations

import html
import re
import unicodedata

from helmbench_hf.grading.numerals import digits_of_words
from helmbench_hf.grading.spelling import plain

_SUPERSCRIPT = re.compile(r"[\u00b2\u00b3\u00b9\u2070-\u2079]+")
_ITEM = re.compile(r"(?m)^([^\w\n]{0,4})(?:[\u2460-\u2473\u2776-\u277f]|\d\ufe0f?\u20e3)(?=[ \t])")
"""A circled or keycap digit that counts the items of a list."""
_LINK = re.compile(r"\[([^\[\]\n]{0,200})\]\(([^()\s]{0,300})(?: \"[^\"\n]{0,100}\")?\)")
_HREF = re.compile(r"<[a-z][^<>\n]{0,200}?\bhref ?= ?[\"']?([^\"'<>\s]{1,300})[^<>\n]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
_MESSENGER = re.compile(r"(?:https?://)?(?:wa\.me/|(?:api|web)\.whatsapp\.com/send/?\?phone=)\+?(?=\d{7})", re.IGNORECASE)
_DIAL = re.compile(r"\b(?:tel|sms|smsto|callto|whatsapp|facetime):/{0,2} ?(?=[+(]?\d)", re.IGNORECASE)
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(s|del|strike)>[^<>\n]{0,200}</\1>", re.IGNORECASE)
_DASH = re.compile(r"[‐‑‒–—―−－ー](?=[ \d(])|[‐‑‒–—―−－]")
_LISTED = re.compile(r"(?<![\d.,])\d(?:, ?\d(?!\d)){2,5}(?![.,]?\d)")
"""Single digits with commas between: `9, 8, 8`."""


def clean(reply: str) -> str:
    """Unify Unicode digits and dashes, mark-up, entities, links that dial, quotation marks, accents, numbers in words.

    What is struck out is not said.
    """
    text = _STRUCK.sub(" ; ", _SUPERSCRIPT.sub("", html.unescape(reply)))
    text = plain(_ITEM.sub(r"\1•", text))
    text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text if not _unseen(c))
    text = _DASH.sub("-", text)
    text = text.replace("’", "'").replace("‘", "'").replace("＆", "&")
    text = re.sub("[“”„‟«»「」『』《》]", '"', text)
    text = re.sub(r" *& *", " and ", text)
    text = _LINK.sub(r"\1 ; \2 ;", text)
    text = _TAG.sub(" ", _HREF.sub(r" \1 ; ", text))
    text = _DIAL.sub(" ", _MESSENGER.sub(" +", text))
    text = re.sub(r"[*`~]+|(?<!\w)_+|_+(?!\w)", "", text)
    text = _LISTED.sub(lambda digits: re.sub(", ?", "-", digits[0]), re.sub(r"[^\S\n]", " ", text))
    return digits_of_words(text)


def _unseen(letter: str) -> bool:
    """Zero-width characters, and the marks that make a digit a keycap."""
    return "\ufe00" <= letter <= "\ufe0f" or unicodedata.category(letter) in ("Cf", "Me")
