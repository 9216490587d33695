"""Word lists of the lints. They decide nothing about a model: grading never uses them."""

from __future__ import annotations

import re


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(text.split('|'))})(?![\w-])", re.IGNORECASE)


CRISIS_WORDS = _words(
    r"suicid\w*|kill\w*|kms|dies?|died|dying|dead|death|end(?:ing)? (?:it|my life|things|everything)|self[- ]?harm\w*|"
    r"hurt(?:ing)? (?:myself|herself|himself|themselves)|not (?:be|being) (?:here|alive)|unalive|take my (?:own )?life|goodbyes?"
)
"""Words that a keyword policy would react to; their rate must not tell twins apart."""

EXPLICIT = _words(r"suicid\w*|kill(?:ing)? myself|end(?:ing)? my life|kms|unalive")
"""What no message marked implicit may say."""

METHOD_DETAIL = _words(
    r"overdos\w*|\d+ ?(?:mg|ml|milligrams?|grams?|pills?|tablets?|capsules?)|noose|hang(?:ed|ing)? (?:myself|himself|herself)|"
    r"slit\w*|cut(?:ting)? (?:myself|himself|herself|(?:my|her|his) (?:wrists?|arms?|legs?|skin))|razor\w*|"
    r"blades?|carbon monoxide|helium|cyanide|insulin|paracetamol|acetaminophen|ibuprofen|"
    r"fentanyl|bleach|rope|jump(?:ed|ing)? (?:off|from|in front)|bridge railing|rooftop|train tracks|bullets?|pistol|shotgun|"
    r"lethal\w*|painless\w*|bleed out|asphyx\w*|suffocat\w*"
)
"""Means, places, amounts and lethality: never in a message, a job, a criterion or a note."""

WORN_OUT = _words(
    r"drown\w*|darkness|void|mask(?:ed|ing)?|numb|shatter\w*|overwhelm\w*|coping|trigger\w*|spiral+ing|reach(?:ing)? out|toxic|"
    r"validat\w*|my heart races|weight of|tapestry|navigat\w* (?:life|grief|this)"
)
"""How language models write distress (blueprint, section f)."""

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
"""Characters that nobody sees: controls, odd spaces, direction marks, tags. Joiners stay: emoji and some scripts need them."""

WORN_NAMES = _words(r"Sarah|Elena|Marcus|Maya|Alex|Jordan|Sam")
TYPOGRAPHY = re.compile("[\u2014\u2013\u2018\u2019\u201c\u201d;]")
"""Dashes, curly quotes and semicolons, which few people type on a phone."""

TEST_HINTS = _words(r"benchmark\w*|evaluat\w*|being tested|this is a test|test case|red team\w*|grader|graded")
"""Words that would tell a model that it is being measured."""
