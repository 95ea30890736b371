"""Function words: grammatical words, as opposed to content words.

The lists for Czech, English, French, German and Spanish are made for this project from the closed classes of their
grammars: articles, pronouns, prepositions, conjunctions, auxiliaries, particles, the pieces that contractions and
tokenisers leave behind, and punctuation.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence

import numpy as np

from ranker.arrays import BoolArray
from ranker.errors import DataError
from ranker.files import display_name, read_text, sha256

_ARTICLES = "a an the"
_DEMONSTRATIVES = "this that these those such"
_PERSONAL = "i me you he him she her it we us they them one"
_POSSESSIVE = "my mine your yours his hers its our ours their theirs whose"
_REFLEXIVE = "myself yourself himself herself itself ourselves yourselves themselves oneself"
_RELATIVE = "who whom which what whoever whatever whichever when where why how whether"
_QUANTIFIERS = "all any both each either every few less many more most much neither no none other others several some"
_BE = "be am is are was were been being"
_HAVE = "have has had having"
_DO = "do does did doing done"
_MODALS = "can cannot could may might must ought shall should will would"
_PREPOSITIONS = (
    "about above across after against along amid among around at before behind below beneath beside besides between "
    "beyond by despite down during except for from in inside into like near of off on onto out outside over past per "
    "since than through throughout till to toward towards under until unto up upon via with within without"
)
_CONJUNCTIONS = "and but or nor yet so if unless because although though while whereas as once"
_PARTICLES = "not also too only even just then there here again ever never now still already"
_CONTRACTIONS = (
    "'s 't 'd 'll 'm 're 've n't s t d ll m re ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn "
    "shouldn"
)
_PUNCTUATION = ". , : ; ! ? ' \" ` `` '' - -- – — ( ) [ ] { } … ... / & « » “ ” „ ‘ ’"

_GERMAN = (
    "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dieser diese "
    "dieses diesen diesem jener jene jenes jenen jenem derselbe dieselbe dasselbe solche solcher solchen ich du er "
    "sie es wir ihr man mich dich ihn uns euch mir dir ihm ihnen sich selbst selber einander mein meine meinen meinem "
    "meiner meines dein deine deinen deinem deiner sein seine seinen seinem seiner seines ihre ihren ihrem ihrer "
    "ihres unser unsere unseren unserem unserer eure euren eurem eurer wer wen wem wessen was welche welcher welches "
    "welchen welchem wo wann wie warum weshalb wohin woher wozu wobei alle allen aller alles beide beiden einige "
    "einigen einiger etwas jede jeder jedes jeden jedem jemand manche mancher mehr mehrere mehreren nichts niemand "
    "viel viele vielen vieler wenig wenige weniger bin bist ist sind seid war warst waren wart gewesen wäre wären sei "
    "seien habe hast hat haben habt hatte hatten gehabt hätte hätten werde wirst wird werden werdet wurde wurden "
    "worden würde würden kann kannst können könnt konnte konnten könnte könnten muss musst müssen müsst musste "
    "mussten müsste müssten soll sollst sollen sollt sollte sollten will willst wollen wollt wollte wollten darf "
    "dürfen durfte durften dürfte dürften mag mögen möchte möchten ab am an ans auf aus außer bei beim bis durch für "
    "gegen gegenüber hinter im in ins mit nach neben ohne seit statt trotz über um unter vom von vor während wegen zu "
    "zum zur zwischen und oder aber denn sondern doch sowie sowohl weder noch entweder dass daß ob weil da wenn als "
    "obwohl damit sodass indem bevor nachdem sobald solange nicht auch nur schon sehr so dann hier dort nun jetzt "
    "immer wieder nie bereits etwa eben ja nein zwar dabei dafür dagegen daher darauf daran daraus darin darüber "
    "davon davor dazu hin her also sonst"
)
_FRENCH = (
    "le la les l un une des du de d au aux ce cet cette ces celui celle ceux celles ceci cela ça c je j tu il elle on "
    "nous vous ils elles me m te t se s moi toi soi lui leur eux y en même mêmes mon ma mes ton ta tes son sa ses "
    "notre nos votre vos leurs mien sien qui que qu quoi dont où quel quelle quels quelles lequel laquelle lesquels "
    "lesquelles duquel auquel quand comment pourquoi combien tout toute tous toutes aucun aucune autre autres certain "
    "certaine certains certaines chaque plusieurs quelque quelques tel telle tels telles rien personne beaucoup peu "
    "plus moins trop assez être suis es est sommes êtes sont étais était étions étaient fut furent été étant sera "
    "seront serait seraient soit soient avoir ai as a avons avez ont avais avait avions avaient eu eut ayant aura "
    "auront aurait auraient ait aient peut peuvent pouvait pouvaient pourrait pourraient pu doit doivent devait "
    "devaient devrait devraient dû faut à après avant avec chez contre dans depuis derrière dès devant durant entre "
    "envers hors jusque jusqu lors malgré par parmi pendant pour sans sauf selon sous sur vers via et ou mais donc or "
    "ni car si comme lorsque lorsqu puisque puisqu quoique tandis alors ainsi afin ne n pas non jamais aussi très "
    "bien déjà encore toujours ici là oui puis ensuite cependant"
)
_SPANISH = (
    "el la los las lo un una unos unas al del este esta esto estos estas ese esa eso esos esas aquel aquella aquello "
    "aquellos aquellas tal tales yo tú él ella ello usted ustedes nosotros nosotras vosotros ellos ellas me te se nos "
    "os le les mí ti sí conmigo contigo consigo mismo misma mismos mismas mi mis tu tus su sus nuestro nuestra "
    "nuestros nuestras vuestro vuestra suyo suya suyos suyas que qué quien quién quienes cual cuál cuales cuyo cuya "
    "cuyos cuyas donde dónde cuando cuándo como cómo cuanto cuánto todo toda todos todas algo alguien algún alguno "
    "alguna algunos algunas nada nadie ningún ninguno ninguna otro otra otros otras cada varios varias mucho mucha "
    "muchos muchas poco poca pocos pocas más menos tan tanto tanta ambos ser soy eres es somos sois son era eras "
    "éramos eran fui fue fuimos fueron sido siendo será serán sería serían sea sean fuera fueran estar estoy está "
    "estamos están estaba estaban estuvo estado haber he has ha hemos habéis han había habían hubo habido habrá "
    "habrán habría habrían haya hayan hubiera hay puede pueden podía podían podrá podría podrían debe deben debía "
    "debería deberían a ante bajo con contra de desde durante en entre hacia hasta mediante para por según sin sobre "
    "tras y e o u ni pero sino mas porque pues si aunque mientras no también tampoco muy ya aún todavía siempre nunca "
    "así aquí allí ahora entonces después antes solo sólo bien"
)
_CZECH = (
    "ten ta to ti ty toho té tomu tom tím tou těch těm těmi tento tato toto tyto tohoto této tomuto tomto tímto touto "
    "těchto těmto těmito takový taková takové já ty on ona ono my vy oni ony mě mne mi mně mnou tě tebe tobě tebou ho "
    "jeho jej jemu mu něm ním jí ní ji ni nás nám námi vás vám vámi jich jim jimi nich nim nimi je se si sebe sobě "
    "sebou sám sama můj má mé moje mého mém tvůj tvé tvoje svůj svá své svého svém svou svých svým svými náš naše "
    "našeho našich našim naší váš vaše její jejich kdo koho komu kom kým co čeho čemu čem čím který která které "
    "kterého které kterému kterém kterým kterou kteří kterých kterými jaký jaká jaké jenž jež jehož jíž jímž kde kdy "
    "jak proč kam odkud zda zdali všechen všechno všechny všech všem vše každý každá každé někdo něco některý některá "
    "některé některých nějaký nějaká nějaké nikdo nic žádný žádná žádné jiný jiná jiné mnoho málo více méně několik "
    "oba být jsem jsi jste jsme jsou byl byla bylo byli byly budu budeš bude budeme budete budou by bych bys bychom "
    "byste buď není nejsou nebyl nebyla nebylo nebude mít mám máš má máme máte mají měl měla mělo měli nemá může "
    "můžete mohou mohl mohla mohli musí musel musela chce chtěl bez během do k ke ku kolem kromě mezi místo na nad o "
    "ob od ode okolo po pod podle pro proti před přede přes při s se skrz u v ve vedle vůči z za ze kvůli díky a i "
    "ani nebo či ale avšak však ale tak takže že aby kdyby když protože jestli jestliže pokud přestože ačkoli než až "
    "jako neboť totiž proto tedy ne ano také taky jen jenom pouze už již ještě zde tady tam teď nyní vždy nikdy velmi "
    "zase asi"
)

ENGLISH = frozenset(
    " ".join(
        (
            *(_ARTICLES, _DEMONSTRATIVES, _PERSONAL, _POSSESSIVE, _REFLEXIVE, _RELATIVE, _QUANTIFIERS),
            *(_BE, _HAVE, _DO, _MODALS, _PREPOSITIONS, _CONJUNCTIONS, _PARTICLES, _CONTRACTIONS, _PUNCTUATION),
        )
    ).split()
)
"""English function words, lowercased."""
_OTHERS = {"czech": _CZECH, "french": _FRENCH, "german": _GERMAN, "spanish": _SPANISH}
LISTS = {"english": ENGLISH, **{name: frozenset(f"{words} {_PUNCTUATION}".split()) for name, words in _OTHERS.items()}}
"""Function words by list name, including punctuation."""


@functools.cache
def function_words(name: str) -> tuple[frozenset[str], str]:
    """Return the function words of an included list or a file, lower-cased, and the list's name in signatures."""
    if name in LISTS:
        return LISTS[name], name
    if name == "none":
        return frozenset(), name
    text = read_text(name)
    words = frozenset(text.lower().split())
    if not words:
        raise DataError("contains no function words, expected one or more per line", file=display_name(name))
    return words, sha256("\n".join(sorted(words)).encode())[:12]


def is_among(vocabulary: Sequence[str], words: Container[str]) -> BoolArray:
    """Return a mask of the words of `vocabulary` whose lower-cased form is among `words`, shape (vocabulary,)."""
    return np.fromiter((word.lower() in words for word in vocabulary), dtype=np.bool_, count=len(vocabulary))
