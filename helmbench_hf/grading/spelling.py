"""Text in one spelling: accents, compatibility forms, and the words of a phrase."""

from __future__ import annotations

import re
import unicodedata


def plain(text: str) -> str:
    """Compatibility forms unified and Latin accents taken off, capitals kept: `Línea` and `Ｌinea` are `Linea`."""
    apart = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(letter for letter in apart if not "\u0300" <= letter <= "\u036f"))


def words_of(text: str) -> str:
    """The words in lower case, one space between: the key of a phrase."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
