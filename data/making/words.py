"""Word lists of the simulated systems: what they drop, confuse, inflect wrongly and mistranslate.

Each table is written as text, entries apart by a bar, so that it can be read and extended as a word list.
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _entries(text: str) -> list[str]:
    return [entry.strip() for line in text.strip().splitlines() for entry in line.split("|")]


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Read entries like ``word: other/another``."""
    pairs = (entry.split(": ") for entry in _entries(text))
    return {word: tuple(others.split("/")) for word, others in pairs}


def _forms(text: str) -> dict[str, tuple[str, ...]]:
    """Read entries that list the forms of one word; each form without a tilde gets the others."""
    table = {}
    for entry in _entries(text):
        forms = entry.replace("~", "").split()
        for form in entry.split():
            if not form.startswith("~"):
                table[form] = tuple(other for other in forms if other != form)
    return table


DETERMINERS = _set("a an the this that these those its his her their my your every each no")
PREPOSITIONS = _set(
    "about above across after along among around as at before behind below beneath beside besides between by "
    "for from in inside into of off on onto out over past round since than through to towards under until up "
    "upon with within without"
)
LINKING_WORDS = _set(
    "and but or so because since when while whenever where who whom which that if whether although though as "
    "is are was were be been has have had will would can could may must should do does did there it"
)
FUNCTION_WORDS = DETERMINERS | PREPOSITIONS | LINKING_WORDS

# without the words taken out here a sentence may still be good English, or says the opposite
DROPPABLE = FUNCTION_WORDS - _set("that no up off out over about around along there")

FUNCTION_CONFUSIONS = _table("""
in: on/at/to|on: in/at/of|at: in/on|of: from/for/in|to: for/at/on|for: to/of|by: with/from/of
with: by/of/and|from: of/to/at|into: in/to|the: a/this|a: the|an: the|its: their/his|their: its|his: its
her: his/its|than: as/to|as: like/than|about: of/for|over: on/above|after: since/behind|before: until/ago
until: before/to|since: from/after|because: so/although|but: and/so|and: with/but|who: which/whom
which: what/who|when: while/if|if: when/whether|although: because/but|there: it|this: these|these: this
through: by/over|along: by/on|between: among/of|across: over/by|round: in/on|without: no/with
under: below/in|while: when/and|so: then/as|near: at/to|around: in/by|behind: after|they: it/them
it: they/he|he: it/she|she: it/he
""")

# A form after a tilde is never replaced, because it is as often another part of speech, but may stand in for
# one that is.
FORMS = _forms("""
be is are was were been being|have has had having|do does did done|go goes went gone going
come comes came coming|say says said saying|make makes made making|take takes took taken taking
get gets got getting|give gives gave given|find finds found finding|see sees saw seen seeing
know knows knew known|keep keeps kept keeping|will would|begin begins began begun|run runs ran running
~stand ~stands stood standing|sit sits sat sitting|put puts putting|bring brings brought bringing
buy buys bought buying|build builds built|sell sells sold selling|send sends sent sending
spend spends spent spending|leave leaves left leaving|lose loses lost losing|learn learns learned learning
teach teaches taught|grow grows grew grown growing|rise rises rose rising|~fall ~falls fell fallen falling
drive drives drove driven driving|~ride rides rode riding|eat eats ate eaten eating
drink drinks drank drinking|speak speaks spoke speaking|~break breaks broke broken
choose chooses chose choosing|write writes wrote written|read reads reading|hold holds held holding
cut cuts cutting|pay pays paid paying|lay lays laid laying|lie lies lying|feel feels felt
~deal deals dealt dealing|win wins won winning|swim swims swam swimming|lend lends lent
bend bends bent bending|become becomes became becoming|meet meets met|hear hears heard
wear wears wore wearing|open opens opened opening|~close closes closed closing
~start ~starts started starting|stop stops stopped stopping|move moves moved moving
~wait waits waited waiting|~clean cleans cleaned cleaning|~clear clears cleared clearing
~plant ~plants planted planting|~cover ~covers covered covering|expect expects expected expecting
reach reaches reached reaching|carry carries carried carrying|arrive arrives arrived arriving
decide decides decided|ask asks asked asking|~offer offers offered offering|complain complains complained
~promise promises promised|explain explains explained|install installs installed|~return returns returned
~visit visits visited visiting|~show shows showed shown showing|~work ~works worked working
walk walks walked walking|~travel travels travelled|remind reminds reminded|advise advises advised
suggest suggests suggested|remain remains remained|stay stays stayed staying|need needs needed
want wants wanted|~use uses used using|suffer suffers suffered|~park ~parks parked ~parking
crush crushes crushed|blow blows blew|~check checks checked checking|inspect inspects inspected inspecting
~finish finishes finished finishing|~repair ~repairs repaired repairing|remove removes removed removing
deliver delivers delivered delivering|agree agrees agreed|~cost costs costing|~help helps helped
allow allows allowed|measure measures measured measuring|look looks looked looking
~turn ~turns turned turning|pick picks picked picking|~point ~points pointed pointing|pull pulls pulled
link links linked|affect affects affected|chase chases chased chasing|~water ~waters watered
~cook ~cooks cooked cooking|~steam steams steamed|bake bakes baked baking|~paint paints painted painting
~taste tastes tasted|disappear disappears disappeared|treat treats treated|~test ~tests tested testing
publish publishes published|~plan plans planned|join joins joined|follow follows followed
~change changes changed|replace replaces replaced|improve improves improved|~switch switches switched
connect connects connected connecting|try tries tried trying|~land ~lands landed|child children|man men
woman women|person people|shelf shelves|bookshelf bookshelves|library libraries|city cities|family families
factory factories|company companies|injury injuries|day days|hour hours|week weeks|month months|year years
train trains|boat boats|car cars|tree trees|book books|knee knees|machine machines|road roads
bus buses|loaf loaves|cloth clothes
""")

# the wrong sense of an ambiguous Chinese word, its parts translated one by one, or a false neighbour
CHOICE_CONFUSIONS = _table("""
open: drive|opened: drove|opening: driving|close: concern|closed: related|watch: table|watches: tables
clock: bell|clocks: bells|line: team|queue: troop|ticket: vote|tickets: votes|class: shift|net: network
nets: networks|master: teacher|track: orbit|rails: orbits|plot: block|thick: strong|dense: rich|clear: sober
letters: beliefs|course: curriculum|head: leader|heads: leaders|sign: mark|numbers: digits|figures: digits
flour: noodles|bread: noodles|flower: spend|hall: floor|building: floor|floor: building|bank: row
spring: fountain|waiting: and so on|parts: zero pieces|work: shift|trial: try|back: carry|chain: rope
captain: commander|bow: ship head|shop: branch|stall: spread|stalls: spreads|hot: popular|top: highest
price: value|prices: values|rent: lend|saddle: car seat|finish: terminal|readers: students|walls: fences
first: number one|short: lack|simple: single|smell: hear|grade: age|headmaster: school length
director: hall leader|baker: bread teacher|apprentice: disciple|guide: explainer|guides: explainers
riders: players|cyclists: players|competitors: players|scarecrows: grass people|tonight: this late
owner: master|visitors: tourists|weekdays: flat days|villagers: village people|postman: postal staff
platform: stand|steep: sudden|volunteers: wishers|silt: dirt|screen: curtain|fever: burn|coast: edge
""")

REWORDINGS = _table("""
began: started|started: began|begin: start|nearly: almost|almost: nearly|finally: eventually
pupils: students|pupil: student|small: little|big: large|large: big|however: nevertheless|discovered: found
shops: stores|store: shop|stores: shops|purchased: bought|bought: purchased|everyone: everybody
everybody: everyone|although: though|suddenly: abruptly|rubbish: waste|garbage: rubbish|cyclists: riders
kilometres: km|trip: journey|journey: trip|lorries: trucks|trucks: lorries|bicycle: bike|bike: bicycle
bicycles: bikes|hurried: rushed|rushed: hurried|maize: corn|corn: maize|sofa: couch|couch: sofa
whole: entire|entire: whole|until: till|schedule: timetable|timetable: schedule|physician: doctor
canteen: cafeteria|quickly: rapidly|headmaster: principal|chef: cook|weekdays: workdays|autumn: fall
fortunately: luckily|luckily: fortunately|organisers: organizers|travellers: passengers|dock: pier
children: kids|said: stated/noted|hurt: injured|two: 2|three: 3|four: 4|five: 5|six: 6|seven: 7|eight: 8
nine: 9|ten: 10|twelve: 12|twenty: 20|forty: 40|seventy: 70|currently: now|formerly: previously
immediately: instantly|teacher: schoolteacher|noon: midday|midday: noon|boat: vessel|boats: vessels
dense: heavy|tiny: small|repaired: fixed|helped: assisted|expected: anticipated
""")

# not nouns, as nearly all other words of the glossaries are
MODIFIERS = _set(
    "clapped clear cloudy cool elderly firm front hurt interesting lively nervous noisy northern old quiet "
    "rainy reserve silent simple slippery solid southern stable steep third top uphill wooden yellow"
)

# these keep their capital anywhere in a sentence
CAPITALISED = _set(
    "I Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mondays Saturdays Sundays January February "
    "March April May June July August September October November December"
)
