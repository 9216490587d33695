"""Telephone numbers that are said in words: `one one six, one two three`, `trente et un quatorze`, `일공구`.

The words are an authored table for the languages that people write in the registry's countries. Libraries that read number words
(text2num and its like) read amounts in one known language; a telephone number is a row of small numbers in a language that nobody
told us, so each language is tried and a row counts only where it is of one language.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from helmbench_hf.grading.spelling import plain

LEAST = 3
"""Digits of the shortest number that is called."""


@dataclass(frozen=True, slots=True)
class _Language:
    """Words of the numbers 0 to 9, 10 to 19, 20 to 90, and of the hundreds; variants are separated by `/`."""

    units: str
    teens: str = ""
    tens: str = ""
    joined: tuple[str, ...] = ()
    """How tens and a unit are put together; a template names `t` and `u`."""
    hundreds: tuple[str, ...] = ()
    """Templates of `u` hundred, of one hundred without `u`; `{r}` is the rest, a number of 1 to 99."""
    whole: str = ""
    """Words of 100 to 900, where each has one; `rest` joins 1 to 99 to them."""
    rest: str = " "
    extra: str = ""
    """Irregular ones, `words=digits`, separated by commas."""


_LANGUAGES = (
    _Language(  # English
        "zero/oh/o/nought/naught one two three four five six seven eight nine",
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        ("{t} {u}",),
        ("{u} hundred", "{u} hundred and {r}"),
        extra="two thousand=2000,five thousand=5000",
    ),
    _Language(  # Spanish
        "cero un/uno/una dos tres cuatro cinco seis siete ocho nueve",
        "diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve",
        "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
        ("{t} y {u}",),
        whole="cien/ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos",
        extra="veintiuno=21,veintidos=22,veintitres=23,veinticuatro=24,veinticinco=25,veintiseis=26,veintisiete=27,veintiocho=28,"
        "veintinueve=29,dos mil=2000,cinco mil=5000",
    ),
    _Language(  # Portuguese
        "zero um/uma dois/duas tres quatro cinco seis/meia sete oito nove",
        "dez onze doze treze catorze/quatorze quinze dezesseis/dezasseis dezessete/dezassete dezoito dezenove/dezanove",
        "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
        ("{t} e {u}",),
        whole="cem/cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos",
        rest=" e ",
        extra="dois mil=2000,cinco mil=5000",
    ),
    _Language(  # French
        "zero un/une deux trois quatre cinq six sept huit neuf",
        "dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf",
        "vingt trente quarante cinquante soixante septante huitante/quatre-vingt/quatre-vingts nonante",
        ("{t} {u}", "{t} et {u}"),
        ("{u} cents", "{u} cent", "{u} cent {r}", "cent {r}"),
        extra="soixante dix=70,soixante et onze=71,soixante douze=72,soixante treize=73,soixante quatorze=74,soixante quinze=75,"
        "soixante seize=76,soixante dix sept=77,soixante dix huit=78,soixante dix neuf=79,quatre vingt dix=90,quatre "
        "vingt onze=91,"
        "quatre vingt douze=92,quatre vingt treize=93,quatre vingt quatorze=94,quatre vingt quinze=95,quatre vingt seize=96,"
        "quatre vingt dix sept=97,quatre vingt dix huit=98,quatre vingt dix neuf=99",
    ),
    _Language(  # German
        "null eins/ein/eine zwei/zwo drei vier funf/fuenf sechs sieben acht neun",
        "zehn elf zwolf/zwoelf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn",
        "zwanzig dreissig/dreißig vierzig funfzig sechzig siebzig achtzig neunzig",
        ("{u}und{t}",),
        ("{u}hundert", "{u}hundert{r}", "{u}hundertund{r}", "hundert{r}", "hundertund{r}"),
    ),
    _Language(  # Dutch
        "nul een twee drie vier vijf zes zeven acht negen",
        "tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien",
        "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
        ("{u}en{t}", "{u} en {t}"),
        ("{u}honderd", "{u}honderd{r}", "{u} honderd", "honderd{r}", "honderd en {r}"),
    ),
    _Language(  # Afrikaans
        "nul een twee drie vier vyf ses sewe agt/ag nege",
        "tien elf twaalf dertien veertien vyftien sestien sewentien agtien negentien",
        "twintig dertig veertig vyftig sestig sewentig tagtig negentig",
        ("{u} en {t}", "{u}-en-{t}", "{u}en{t}"),
        ("{u}honderd", "{u} honderd", "honderd {r}", "honderd en {r}"),
    ),
    _Language("zero u/un/una dos tres quatre cinc sis set vuit nou"),  # Catalan
    _Language("cero un/unha dous/duas tres catro cinco seis sete oito nove"),  # Galician
    _Language("zero bat bi hiru lau bost sei zazpi zortzi bederatzi"),  # Basque
    _Language("zero uno/una due tre quattro cinque sei sette otto nove"),  # Italian
    _Language("sero/zero isa dalawa tatlo apat lima anim pito walo siyam"),  # Filipino
    _Language("sero/zero uno dos tres kuwatro/kwatro singko sais siyete otso nuwebe"),  # Filipino, by Spanish words
    _Language("sero/zero usa/isa duha tulo upat lima unom/anum pito walo siyam"),  # Cebuano and Hiligaynon
    _Language("kosong/sifar/nol satu dua tiga empat lima enam tujuh lapan/delapan sembilan"),  # Malay
    _Language("sifuri/sufuri moja mbili tatu nne tano sita saba nane tisa"),  # Swahili
    _Language("sifili daya/ɗaya biyu uku hudu/huɗu biyar shida bakwai takwas tara"),  # Hausa
    _Language("odo/ofo okan/ookan/eni/kan eji/meji/eeji eta/meta/eeta erin/merin/eerin arun/marun/aarun efa/mefa/eefa"
              " eje/meje/eeje ejo/mejo/eejo esan/mesan/eesan"),  # Yoruba
    _Language("efu otu abuo/abua ato ano ise isii asaa asato itoolu/iteghete"),  # Igbo
    # Zulu
    _Language("iqanda/uziro/zero kunye kubili kuthathu kune kuhlanu isithupha isikhombisa isishiyagalombili isishiyagalolunye"),
    _Language("dim/sero un dau/dwy tri/tair pedwar/pedair pump chwech saith wyth naw"),  # Welsh
    _Language("naid/nialas haon do tri ceathair cuig se seacht hocht naoi"),  # Irish
    _Language("kore tahi rua toru wha rima ono whitu waru iwa"),  # Maori
    _Language("शून्य/ज़ीरो/जीरो एक दो तीन चार पांच/पाँच छह/छः/छे/छ सात आठ नौ"),  # Hindi
    _Language("शून्य एक दोन तीन चार पाच सहा सात आठ नऊ"),  # Marathi
    # Hindi in Latin letters
    _Language("shunya/zero/sifar ek do teen/tin char/chaar paanch/panch chhe/chhah/che/chah saat/sat aath/aat nau"),
    _Language("শূন্য/জিরো এক দুই তিন চার পাঁচ ছয় সাত আট নয়"),  # Bengali
    _Language("பூஜ்ஜியம்/பூஜ்யம்/சைபர் ஒன்று/ஒன்னு இரண்டு/ரெண்டு மூன்று/மூணு நான்கு/நாலு ஐந்து/அஞ்சு ஆறு ஏழு எட்டு ஒன்பது"),  # Tamil
    _Language("సున్నా ఒకటి రెండు మూడు నాలుగు ఐదు ఆరు ఏడు ఎనిమిది తొమ్మిది"),  # Telugu
)  # fmt: skip
_TIMES = {"double": 2, "triple": 3, "treble": 3, "doble": 2, "duplo": 2, "dubbel": 2, "dobbel": 2, "डबल": 2}
_BETWEEN = (
    "then and dash hyphen space pause luego guion depois puis tiret dann strich dan streep und et y e en na at koppelteken a"
)
"""Words that only part the groups of a number."""
_WORD = re.compile(r"(?:[^\W\d_]|[\u0900-\u0963\u0966-\u0dff])+")
_JOIN = re.compile(r" {1,2}|-")
"""Between the words of one small number."""
_APART = re.compile(r" ?[,、·・/…-]{1,3} ?| {1,2}|\.{1,3} {1,2}")
_COUNTED = re.compile(
    r" (?:digits?|numbers?|times|minutes?|hours?|days?|nights?|weeks?|people|steps?|words?|things?|more|of|at a|by one|"
    r"dias|horas|jours|heures|tage|stunden|dagen|uur|araw|oras|jam|hari|lines?|options?)\b",
    re.IGNORECASE,
)
_ONE_THING = re.compile(r" (?:call|person|text|message|conversation|chat|word|voice|step)\b", re.IGNORECASE)
_ARTICLES = frozenset(["un", "una", "une", "um", "uma", "unha", "een", "ein", "eine", "isang"])
"""Words for one that begin the next clause as well: `cero dos cuatro, un profesional te escucha`."""
_HAN = {**dict(zip("〇零一二三四五六七八九", "00123456789", strict=True)), "○": "0", "幺": "1"}
_HANGUL = dict(zip("공영일이삼사오육륙칠팔구", "001234566789", strict=True))
_KANA = {
    word: str(digit)
    for digit, words in enumerate(
        ("ゼロ/レイ", "イチ", "ニー/ニ", "サン", "ヨン", "ゴー/ゴ", "ロク", "ナナ", "ハチ", "キュウ/キュー")
    )
    for word in words.split("/")
}
_HIRAGANA = {"".join(chr(ord(c) - 96) if "ァ" <= c <= "ヶ" else c for c in word): digit for word, digit in _KANA.items()}
_Row = tuple[re.Pattern[str], dict[str, str]]
_PART = r"(?: ?[、,・·-] ?| |の|에 ?|의 ?)"


def _row_of(signs: dict[str, str], edge: str = "", part: str = f"{_PART}?", words: str = "(?!)") -> _Row:
    """A row of signs, none of which begins one of `words`."""
    sign = f"(?:(?!{words})(?:{'|'.join(sorted(signs, key=len, reverse=True))}))"
    return re.compile(f"{edge}{sign}(?:{part}{sign}){{{LEAST - 1},}}"), signs


_SCRIPTS = (
    _row_of(_HAN, words="[〇零一二三四五六七八九][十百千万个個位天次月年日下定起直样樣些点點会會条條切般名旦边邊番人]"),
    _row_of(
        _HANGUL,
        "(?<![가-힣])",
        words="이(?:렇|런|거|것|제|건|곳|후|상|야|용| 번| 세| 숫)|오(?:늘|전|후|면|세|래)|일(?:단|어|상|찍|하)|"
        "사(?:람|실)|구(?:하|조|급)",
    ),
    _row_of(_KANA, "(?<![ァ-ヶー])"),
    _row_of(_HIRAGANA, part=_PART),  # without something between they are parts of words
)


def digits_of_words(text: str) -> str:
    """The text with every number that is said in words, of three digits or more, in digits.

    `text` is spelled by `plain` before. A comma between words becomes a hyphen: `one three, one one, one four` is `13-11-14`.
    """
    pieces, last = [], 0
    for start, end, digits in _rows(text):
        pieces += [text[last:start], digits]
        last = end
    return _syllables("".join([*pieces, text[last:]]))


def _rows(text: str) -> Iterator[tuple[int, int, str]]:
    """Rows of number words: start, end, digits."""
    words = [(match.group().casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]
    starts, first = _starts(), 0
    while first < len(words):
        rows = [_row(text, words, first, language) for language in starts.get(words[first][0], ())]
        last, digits = max(rows, default=(first, ""))
        if sum(map(str.isdigit, digits)) >= LEAST:
            yield words[first][1], words[last - 1][2], digits
            first = last
        else:
            first += 1


def _row(text: str, words: list[tuple[str, int, int]], first: int, language: int) -> tuple[int, str]:
    """The longest row in one language that begins at a word: the word behind it, and its digits."""
    groups: list[tuple[str, int]] = []
    at, mark = first, ""
    while at < len(words):
        times = _TIMES.get(words[at][0], 1)
        at += times > 1
        found = _small(text, words, at, language)
        if not found:
            break
        digits, behind = found
        groups.append((mark + digits * times, behind))
        if behind >= len(words):
            break
        gap, at = text[words[behind - 1][2] : words[behind][1]], behind
        if (
            words[at][0] in _BETWEEN.split()
            and _APART.fullmatch(gap)
            and at + 1 < len(words)
            and not _small(text, words, at, language)
        ):
            gap, at = text[words[at][2] : words[at + 1][1]], at + 1
        if not _APART.fullmatch(gap):
            break
        mark = "" if _JOIN.fullmatch(gap) else "-"
    if groups and groups[-1][0] == "-1":
        word, _, end = words[groups[-1][1] - 1]
        if (word in _ARTICLES and text[end : end + 1] == " ") or (word == "one" and _ONE_THING.match(text, end)):
            groups.pop()
    if groups and _COUNTED.match(text, words[groups[-1][1] - 1][2]):
        groups.pop()
    return (groups[-1][1], "".join(digits for digits, _ in groups)) if groups else (first, "")


def _small(text: str, words: list[tuple[str, int, int]], at: int, language: int) -> tuple[str, int] | None:
    """The longest number of one group that begins at a word: its digits, and the word behind it."""
    table, longest = _tables()[language]
    found, key = None, ""
    for last in range(at, min(len(words), at + longest)):
        if last > at and not _JOIN.fullmatch(text[words[last - 1][2] : words[last][1]]):
            break
        key = f"{key} {words[last][0]}".lstrip()
        if key in table:
            found = table[key], last + 1
    return found


@cache
def _tables() -> tuple[tuple[dict[str, str], int], ...]:
    """Of each language: the words of its small numbers -> digits, and how many words the longest has."""
    tables = [_table(language) for language in _LANGUAGES]
    return tuple((table, max(key.count(" ") + 1 for key in table)) for table in tables)


@cache
def _starts() -> dict[str, tuple[int, ...]]:
    """The first word of a number -> the languages in which it is one."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for number, (table, _) in enumerate(_tables()):
        for key in table:
            found[key.split()[0]].add(number)
        for word in _TIMES:
            found[word].add(number)
    return {word: tuple(sorted(languages)) for word, languages in found.items()}


def _table(language: _Language) -> dict[str, str]:
    units, teens, tens = (
        [(word, str(value)) for value, words in enumerate(listed.split(), first) for word in words.split("/")]
        for listed, first in ((language.units, 0), (language.teens, 10), (language.tens, 2))
    )
    table = dict(units) | dict(teens) | {word: f"{value}0" for word, value in tens}
    unit = [(word, value) for word, value in units if value != "0"]
    for template in language.joined:
        table |= {template.format(t=ten, u=one): value + last for ten, value in tens for one, last in unit}
    below = {word: value.zfill(2) for word, value in table.items()}
    for template in language.hundreds:
        rests = below if "{r}" in template else {"": "00"}
        counts = unit if "{u}" in template else [("", "1")]
        table |= {template.format(u=one, r=rest): value + last for one, value in counts for rest, last in rests.items()}
    for value, words in enumerate(language.whole.split(), 1):
        for word in words.split("/"):
            table |= {word: f"{value}00", **{f"{word}{language.rest}{rest}": f"{value}{last}" for rest, last in below.items()}}
    if language.extra:
        table |= dict(pair.split("=") for pair in language.extra.split(","))
    return {" ".join(_WORD.findall(plain(words).casefold())): value for words, value in table.items()}


def _syllables(text: str) -> str:
    """Digits in scripts that say one in a character or a syllable: `一七六七`, `일공구`, `ゼロイチニーゼロ`."""
    for row, signs in _SCRIPTS:
        text = row.sub(lambda found, known=signs: _spelled(found[0], known), text)  # type: ignore[misc]
    return text


def _spelled(row: str, signs: dict[str, str]) -> str:
    digits = re.sub("|".join(sorted(signs, key=len, reverse=True)), lambda sign: signs[sign[0]], row)
    return re.sub(r"[^0-9]+", "-", digits)
