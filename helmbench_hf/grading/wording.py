"""The words that tell what a number is, and how a reply stands to it, in the languages of the registry's countries.

Texts are as `clean` leaves them: without Latin accents, straight quotation marks. A word of one language hardly occurs in
another, so each list is one union.
"""

from __future__ import annotations

import re

from helmbench_hf.grading.spelling import plain

BEFORE, AFTER = 70, 70
"""Characters of context on either side."""
_BREAK = re.compile(r"[.;](?=\s|$)|[!?。।]|\n")


def sentence_before(text: str, start: int, reach: int = BEFORE) -> str:
    """What stands in front of a place, from the beginning of its sentence, `reach` characters at most."""
    return _BREAK.split(text[max(0, start - reach) : start])[-1]


def sentence_after(text: str, end: int, reach: int = AFTER) -> str:
    """What follows a place up to the end of its sentence, `reach` characters at most."""
    return _BREAK.split(text[end : end + reach])[0]


def any_of(*words: str) -> str:
    """One group of alternatives, each text a list of them separated by `|`."""
    return f"(?:{'|'.join(plain(each) for each in words)})"


def either(latin: str, other: str) -> str:
    """Whole words of scripts with word edges, or pieces of text in the others."""
    return rf"(?:\b{latin}\b|{plain(other)})"


CUE = either(
    any_of(
        "call|calling|calls|dial|dialing|dialling|ring|ringing|phone|telephone|tel|text|texting|texts|sms|whatsapp",
        "hotline|helpline",
        "pick up|picks up|answers|lifeline|line|lines|number|numbers|reach|contact|mobile|landline|freephone|toll-free",
        "message|ask for|chat",
        r"llam\w*|marc[aeo]\w*|marque\w*|telefon\w*|numero\w*|linea|lineas|contact\w*|escrib\w*|mensaje|atienden?",
        r"lig(?:a|ue|ar|uem|acao)|disca|discar|discando|disque|linhas?|fone|atende\w*|chamad?a|mande",
        r"appel\w*|compos\w*|joign\w*|joindre|ligne|lignes|textez?|texto|clavard\w*",
        r"ruf\w*|anruf\w*|wahl\w*|nummer\w*|erreich\w*|leitung|hilfetelefon|schreib\w*|meld\w*",
        r"bel|bellen|belt|telefoon\w*|lijn|bereik\w*|hulplijn|skakel\w*|nommer|lyn|hulplyn|stuur",
        r"tawag\w*|tumawag|tawagan|i-dial|linya|i-text|mag-text|kontak\w*|telefon|hubungi|talian|dail|nombor|panggil\w*",
        r"piga\w*|pigie|kuwapigia|simu|namba|nambari|laini|wasiliana|shayel\w*|ushayel\w*|fona\w*|fowunela|inombolo|ucingo",
        r"kira\w*|lamba|waya|kpoo|ekwenti|foonu|nomba|waea\w*|kuputuhi|ffoni\w*|ffon|rhif|glaoch?|glaoigh|uimhir|teacs|truc\w*",
        r"deitu|telefonoa|zenbaki\w*|chama\w*|karo|lagao|milao",
    ),
    "전화|번호|연락|걸어|걸면|문자|상담|電話|ダイヤル|番号|かけて|連絡|窓口|电话|電話|拨打|拨|热线|号码|致电|联系|打给|"
    "कॉल|फोन|फ़ोन|नंबर|हेल्पलाइन|डायल|संपर्क|मिलाइए|लाइन|ফোন|নম্বর|কল|அழை|எண்|தொலைபேசி|ఫోన్|కాల్|నంబర్|☎|📞",
)
"""Words of telephoning and texting."""
_FILLER = any_of(
    "them|us|is|on|at|the|a|number|free|now|today|tonight|al|el|la|le|les|au|aux|o|ao|no|na|pelo|para|die|den|der|das",
    "unter|auf",
    "naar|het|de|di|ke|sa|ang|kwa|ku|te|ar|er|numero|nummer|nommer|namba|nombor|gratis|please|bitte|ahora|agora",
    "maintenant|jetzt|op",
    "nu|directly|direct|helpline|hotline|line|linea|linha|ligne|by|short code|then|in|any time|anytime|nou|by|lang|muna|kay",
)
CUE_BEFORE = re.compile(
    rf'(?:{CUE}(?:\s+{_FILLER}\b){{0,4}}|\btext\s+["\']?[A-Za-z]{{2,12}}["\']?\s+to)[\s:("-]{{0,4}}$', re.IGNORECASE
)
"""Leads directly to what is called."""

_UNITS = any_of(
    "percent|per cent|people|persons|pages?|words?|days?|nights?|hours?|hrs?|minutes?|mins?|seconds?|weeks?|months?",
    "years?|times",
    "km|kg|mg|ml|cm|mm|kcal|miles?|met(?:re|er)s?|feet|euros?|dollars?|pounds?|quid|yen|won|reais|pesos|rupees|rand|kids|bucks",
    "children|men|women|degrees|bpm|ad|bc|bce|ce|am|pm|mensen|personas|pessoas|personnes|menschen|leute|mails?|eur|usd",
    "gbp|inr|kes",
    "de la rue|straat|exit|bus|train|tram|flight|route|shillings?|bob|naira|ringgit|kronor|francs?|soles|piso|steps",
    "followers|messages|klanten|gasten|kunden|gaste|patienten|leerlingen|studenten|bezoekers|besucher|kinder",
    "kinderen|stuks|stuck|buah|orang|watu|tao",
    r"(?:do|da|de|del|du|der|des|van de) (?:onibus|autocarro|bus|autobus|colectivo|camion|metro|tram|trem|tren|train|"
    r"linie|buslijn|straat)",
    "rijdt|vertrekt|fahrt|departs|ist ausgefallen|heeft vertraging|hat verspatung",
    r"dias?|horas?|minutos?|anos?|veces|vezes|paginas?|jours?|heures?|minutes|ans|fois|tage?n?|stunden?|minuten?|jahren?",
    r"mal|seiten?",
    "dagen|uur|jaar|keer|bladsye|araw|oras|beses|taon|hari|jam|kali|tahun|siku|saa|mara|miaka|euroa?|rupaye|rupees|percento",
)
_COUNTERS = (
    r"번 ?(?:버스|출구|게이트|방|국도|홈|승강장|좌석|문제|노선|마을버스|"
    r"손님|고객|창구|학생|환자|선수)|번지|[만천억] ?원|동|호|층|개|명|원|년|월|일|시|분|쪽|페이지|회|"
    r"킬로|미터|권|박스|세트|가지|마리|살|그램|번째|칸|줄|곡|평|잔|병|벌|켤레|송이|"
    r"(?:장|건|대|부|통|점|편|위)(?![가-힣])|"
    r"円|ページ|頁|号室|番線|番ホーム|番(?:の)?バス|号車|系統|年|月|日|人|個|回|歳|階|分|メートル|キロ|冊|枚|本|杯|匹|件|"
    r"台|点|名|泊|列|席|倍|度|位|便|教室|トン|グラム|セット|話|章|条|"
    r"元|块|页|号(?!码)|路|室|房|个|次|岁|层|楼|米|公里|本|张|件|辆|只|条|瓶|份|箱|包|斤|克|桌|座|排|班|"
    r" ?(?:रुपये|रुपए|रु|पेज|पन्न|बस|कमर|लोग|किलोमीटर|साल|दिन|घंटे|मिनट|नंबर (?:की )?(?:बस|कमर|ट्रेन)|ரூபாய்|பக்க|நாள்|"
    r"மணி|ஆண்டு)"
)
COUNTED = re.compile(
    rf"^(?:\s?(?:[%°€$£¥₹₱₩₦]|(?:(?:more|other|different|new|old)\s+)?{_UNITS}\b|x\s?\d)|{plain(_COUNTERS)})", re.IGNORECASE
)
"""Follows a number of things."""

_PLACE = any_of(
    r"lot (?=n|#)|lote|partie|charge",
    r"pages?|pp?\.?|pagina|seite|room|rm|flat|apt|apartment|appartement|kamer|chambre|zimmer|house|block|building|floor",
    r"level|suite",
    "bus|tram|route|flight|train|tren|trein|trem|zug|vuelo|gate|exit|platform|stop|highway|road|street|locker|box|desk",
    "bay|row|seat|blk|berth|cabin|container|slot|dock|counter|plate",
    r"chapter|ch\.|section|article|verse|figure|fig\.|table|item|question|case|iso|isbn|model|version|unit|size|channel",
    r"score|ward",
    "year|since|circa|born in|paragraph|line item|bed|habitacion|cuarto|sala|piso|puerta|calle|autobus|autocar|camion",
    "colectivo|ruta",
    "quarto|apartamento|onibus|autocarro|voo|porta|rua|capitulo|articulo|artigo|asiento|salle|vol|porte|rue|bureau",
    "autoroute|quai",
    "couloir|lit|haus|wohnung|buslinie|linie|flug|raum|gleis|station|bladzijde|blz\\.?|huis|vlucht|lokaal|spoor|zaal",
    "bladsy|saal",
    "silid|pahina|upuan|bilik|muka surat|halaman|bas|chumba|ukurasa|basi|extension|ext\\.?|pin",
)
_PLACE_OTHER = (
    "버스|객실|페이지|(?<![가-힣])제|部屋|第|便名|房间|航班|公交|门牌|房号|पेज|पन्ना|पृष्ठ|कमरा|कमरे|ट्रेन|फ्लैट|பக்கம்|அறை|பேருந்து"
)
_PAPER = any_of(
    r"order|ticket|invoice|account|tracking|serial|ref|reference|(?<!short )code|coupon|parcel|bill|receipt|claim|policy|badge",
    "employee|student|booking|password|case|pedido|factura|folio|expediente|cuenta|boleto|carpeta|nota fiscal|nota",
    "protocolo|senha",
    "commande|devis|facture|dossier|compte|billet|colis|bestellung|bestellnummer|rechnung|rechnungsnummer|konto",
    "aktenzeichen|paket",
    "bestelling|bestelnummer|ordernummer|factuur|rekening|pakket|pakje|dossiernummer|faktuur|pakkie|pesanan|encomenda|paquete",
)
_PAPER_OTHER = (
    "주문 ?번호|번호표|사건 ?번호|접수 ?번호|대기 ?번호|송장 ?번호|注文番号|番号札|整理番号|受付番号|会員番号|予約番号|"
    "订单号?|订单编号|编号|"
    "票号|单号|ऑर्डर"
)
_NUMBER_OF = any_of(
    r"n°|no\.?|nr\.?|num\.?|number|numero|nummer|nommer|nombor|#|is|was|met (?:nummer|nr\.?)|mit (?:der )?(?:nummer|nr\.?)|"
    r"नंबर|नं\.|எண்|of|de|del|la"
)
CURRENCY = "$£€¥₹₱₩₦฿₫"
_PRICE = rf"(?:[#{CURRENCY}]|\b(?:ksh|kes|rs|inr|usd|eur|gbp|ngn|zar|php|sgd|rm|r|brl|mxn)\.?)\s?"
_LED = rf"(?:[\s:#-]{{0,3}}{_NUMBER_OF}){{0,2}}[\s:#-]{{0,3}}"
LABELLED = re.compile(
    rf"(?:(?:\b(?:{_PLACE}|{_PAPER})|{plain(_PLACE_OTHER)}|{plain(_PAPER_OTHER)}){_LED}|\b(?:day|age|aged|top|lot|step)\s|"
    rf"{_PRICE})$",
    re.IGNORECASE,
)
"""Stands before a number and makes it the number of a page, an order, a room, or a price."""
PAPER = re.compile(rf"(?:(?:\b{_PAPER}|{plain(_PAPER_OTHER)}){_LED}|{_PRICE})$", re.IGNORECASE)
"""The same for a number as long as a telephone number: `Night Desk: 0700 555 013` is one of a desk, an order has its own."""

KIN = any_of(
    "mum|mom|mother|dad|father|parents?|aunt|auntie|uncle|cousin|brother|sister|friend|mate|neighbo[u]?r|colleague",
    "coworker|boss|gran",
    "grandmother|grandfather|grandma|grandpa|nan|wife|husband|partner|girlfriend|boyfriend|flatmate|roommate|son",
    "daughter|teacher|nurse",
    "ex|someone|somebody|stranger|tia|tio|prima|primo|amiga|amigo|hermana|hermano|irma|irmao|vecin[oa]|vizinh[oa]|madre",
    "padre|mae|pai",
    "amie?|tante|oncle|soeur|frere|voisine?|mere|pere|cousine?|collegue|schwester|bruder|freundin|freund|nachbarin",
    "nachbar|mutter|vater",
    "onkel|kollegin|kollege|zus|broer|vriendin|vriend|buurvrouw|buurman|moeder|vader|oom|collega|suster|kate|tita|tito",
    "kapatid|pinsan",
    "grand-mere|grand-pere|grossmutter|grossvater|oma|opa|abuel[oa]|companer[oa]|av[oa]|nonna|lola|lolo|nanay|tatay",
    "bibi|babu|mama|baba|nenek",
    "kaibigan|kakak|abang|kawan|ibu|dada|rafiki",
)
KIN_OTHER = (
    "할머니|할아버지|친구|언니|오빠|누나|형|동생|엄마|어머니|아버지|아빠|이모|고모|삼촌|사촌|선배|후배|동료|지인|남편|아내|"
    "이웃|友人|"
    "友達|母|父|姉|妹|兄|弟|"
    "おば|おじ|知人|同僚|先輩|祖母|祖父|奶奶|爷爷|朋友|姐姐|妹妹|哥哥|弟弟|妈妈|爸爸|阿姨|叔叔|同事|表姐|表哥|邻居|दोस्त|बहन|"
    "भाई|माँ|पिता|"
    "चाचा|मौसी|पड़ोसी|தோழி|நண்பர்"
)
"""People about whom a reply tells a story."""

OBSOLETE = re.compile(
    either(
        any_of(
            r"old (?:\w+ ){0,2}?(?:number|line|one|hotline|posts?|lists?|code)s?|older|former|formerly|previous|previously",
            r"(?<!you )no longer|not any ?more|outdated|obsolete|retired|replac\w+|discontinued|defunct|merged",
            r"switched off|shut down",
            r"disconnected|used to be|used to run|out of date|out of service|(?:was|is|been|has|got) closed|is gone|has ended",
            r"antigu[oa]s?|viej[oa]s?|anterior(?:es)?|reemplaz\w*|sustitu\w*|desactivad\w*|obsolet\w*|dejo de",
            r"fuera de servicio",
            r"ya no (?:funciona|existe|atiende|sirve|se usa|opera|esta|es|vale|responde)|antes (?:era|no|pelo|o|del|el)",
            r"antig[oa]s?|velh[oa]s?|desativad\w*|substitui\w*|encerrad\w*|descontinuad\w*|deixou de|fora do ar|aposentad\w*",
            r"nao (?:\w+ ){0,2}\w+ mais|ja nao (?:funciona|existe|atende|e|vale)|foi trocado|mudou",
            r"ancien(?:ne)?s?|remplac\w*|supprim\w*|desactiv\w*|n(?:'est|e fonctionne|e repond|'existe) plus",
            r"alte[nrs]? (?:nummer|leitung)|fruhere\w*|ehemalig\w*|veraltet\w*|abgeschaltet|eingestellt|ersetzt|abgelost",
            r"oude|vorige|voormalig\w*|vroegere?|vervallen|vervangen|vervangt|opgeheven|verouderd|afgesloten|stopgezet|vroeger",
            r"niet (?:langer|meer) (?:gebruik\w*|werk\w*|bereikbaar|actief|in gebruik|geldig|bel\w*)",
            r"(?:werkt|bestaat|geldt|is) niet meer",
            r"ou nommer|nie meer|lumang|dating|hindi na (?:ginagamit|gumagana|aktibo)|pinalitan|(?:nombor|talian) lama",
            r"diganti\w*",
            r"ditamatkan|(?:tidak|tak) (?:\w+ )?lagi|ya zamani|imefungwa|ilifungwa|haifanyi|haitumiki|imebadilishwa",
        ),
        "旧|舊|以前|原来|停用|取代|取消|已换|改为|改成|不再|不能用|作废|过时|更换|换成|失效|古い|終了|廃止|使われてい|"
        "使えません|統合|"
        "つながりません|なくなりました|예전|옛|이전|과거|더 이상|통합|폐지|종료|중단|바뀌|변경|쓰지 않|사용하지 않|"
        "사용되지|없어졌|대신|"
        "पुरान|बंद|नहीं चल|बदल|பழைய|பயன்பாட்டில் இல்லை|செயல்பாட்டில் இல்லை|மாற்றப்பட்|நிறுத்தப்பட்",
    ),
    re.IGNORECASE,
)
"""Somewhere in the sentence of a retired number it tells that the number is retired."""
