from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ranker import check_outputs, from_texts
from ranker.checks.numbers import numbers
from ranker.checks.outputs import CHECKS, failures
from ranker.checks.texts import compiled, matches, tables
from tests.effort import thorough

LONG = "The committee met on Monday, discussed the new rules for the harbour and agreed to publish them in the spring."


def found(source: str, output: str, lp: str = "de-en", references: list[str] | None = None) -> dict[str, str]:
    data = from_texts([output], [references] if references else None, [source], lp=lp)
    return dict(check_outputs(data)[["check", "found"]].itertuples(index=False))


WIKI = "https://example.org/wiki"
MEETING = "The committee will meet again next week to discuss the proposal in more detail."
ROAD = "The road is closed because of the snow, and the school is open."
FAILS = [
    ("Es regnet.", " ", "de-en", "empty", "no text"),
    ("Es regnet.", "...", "de-en", "empty", "no words"),
    ("Der Bus kam zehn Minuten zu spät.", "der Bus kam zehn Minuten zu spät. ", "de-en", "copy", "the source"),
    ("It was raining when we left the house.", "It was raining when we left.", "en-de", "language", "English"),
    ("It was raining.", "它 was raining when we left", "en-zh", "language", "other letters"),
    ("http://a.org/b", "This is no sentence, it is http://a.org/b", "en-hi", "language", "other letters"),
    ("Es regnet.", "Sure! Here is the translation: It rains.", "de-en", "preamble", "Sure! Here is"),
    ("Es regnet.", "It rains.\n\nNote: literal.", "de-en", "preamble", "Note:"),
    ("Er kam.", "He came to the house to the house to the house.", "de-en", "repetition", "to the house (3 times)"),
    ("他来了。", "他他他他来了。", "en-zh", "repetition", "他 (4 times)"),
    *(
        ("He came home in the evening.", unit * times, f"en-{language}", "repetition", f"{unit} ({times} times)")
        for language, unit, times in (
            ("zh", "他回家", 3),
            ("zh", "今天晚上他终于一个人回到了家", 2),
            ("ja", "彼は夕方になって家に帰りました", 2),
            ("th", "กลับบ้าน", 3),
            ("th", "เขากลับมาที่บ้านตอนเย็น", 2),
            ("th", "เมื่อวานนี้เขาเดินทางกลับมาถึงบ้านตอนเย็น", 2),
            ("lo", "ລາວກັບບ້ານ", 3),
            ("my", "အိမ်ပြန်", 3),
            ("my", "သူညနေမှာအိမ်ကိုပြန်လာခဲ့တယ်", 2),
            ("km", "គាត់មកផ្ទះ", 3),
        )
    ),
    (LONG, "Der Ausschuss traf sich am Montag", "en-de", "truncation", "ends with: "),
    (MEETING, "کمیٹی اگلے ہفتے تجویز پر دوبارہ بات", "en-ur", "truncation", "ends with: "),
    (MEETING, "ကော်မတီသည် လာမည့်အပတ်တွင် ပြန်လည်တွေ့ဆုံ", "en-my", "truncation", "ends with: "),
    (MEETING, "คณะกรรมการจะ", "en-th", "truncation", "ends with: "),
    ("कमेटी अगले हफ़्ते प्रस्ताव पर फिर से चर्चा करेगी और फिर फ़ैसला सुनाएगी।", "The committee will", "hi-en", "truncation", "ends"),
    ("Er wohnt im großen Haus an der See.", "He lives in the big house by the", "de-en", "truncation", "ends with: "),
    ("Das freut mich sehr.", f"{'ha' * 9}, {'x' * 30}", "de-en", "repetition", "x (30 times)"),
    ("51 Gäste", "15 guests", "de-en", "numbers", "51 -> 15"),
    ("1.000,5 Liter", "1,000.6 litres", "de-en", "numbers", "1000.5 -> 1000.6"),
    ("On average it costs 13.5 dollars.", "Cuesta 13 dólares de media.", "en-es", "numbers", "13.5 -> 13"),
    ("It costs 13.5 dollars by post.", "Per mezzo della posta costa 13 dollari.", "en-it", "numbers", "13.5 -> 13"),
    ("It costs 13.5 dollars at midnight.", "Stojí to 13 dolarů o půlnoci.", "en-cs", "numbers", "13.5 -> 13"),
    ("The semiconductor costs 13.5 dollars.", "半导体价格为13美元。", "en-zh", "numbers", "13.5 -> 13"),
    (
        "It costs 13.5 dollars for half a year.",
        "Es kostet 13 Dollar für ein halbes Jahr.",
        "en-de",
        "numbers",
        "13.5 -> 13",
    ),
    (
        "The first half costs 13.5 dollars.",
        "La première demi-heure coûte 13 dollars.",
        "en-fr",
        "numbers",
        "13.5 -> nothing",
    ),
    ("Im Jahr 1987 kam er.", "He came.", "de-en", "numbers", "1987 -> nothing"),
    ("Am 4. März 2015", "On May 4, 2015", "de-en", "dates", "March -> May"),
    ("On 4 May 2015", "Pe 4 iunie 2015", "en-ro", "dates", "May -> June"),
    ("On 4 May", "4. septembril", "en-et", "dates", "May -> September"),
    ("On 4 August", "Den 4 maj", "en-sv", "dates", "August -> May"),
    ("On 4 April", "4 November", "en-ms", "dates", "April -> November"),
    ("星期一开会。", "We meet on Tuesday.", "zh-en", "dates", "Monday -> Tuesday"),
    ("Ne vedem miercuri.", "We meet on Monday.", "ro-en", "dates", "Wednesday -> Monday"),
    ("Es kostet 5 Euro.", "It costs $5.", "de-en", "units", "euro -> dollar"),
    ("34 km/h", "34 miles an hour", "de-en", "units", "kilometre -> mile"),
    ("Siehe https://example.org/a.", "See example.", "de-en", "urls", "https://example.org/a -> nothing"),
    (f"See {WIKI}/Москва.", f"См. {WIKI}/Киев.", "en-ru", "urls", f"{WIKI}/москва -> {WIKI}/киев"),
    (f"See {WIKI}/Köln.", f"Siehe {WIKI}/Kassel.", "en-de", "urls", f"{WIKI}/köln -> {WIKI}/kassel"),
    (f"See {WIKI}/हिन्दी.", f"{WIKI}/दिल्ली देखें।", "en-hi", "urls", f"{WIKI}/हिन्दी -> {WIKI}/दिल्ली"),
    (f"See {WIKI}/日本 now.", f"{WIKI}/中国を見る。", "en-ja", "urls", f"{WIKI}/日本 -> nothing"),
    (f"See {WIKI}/日本.", "それを見る。", "en-ja", "urls", f"{WIKI}/日本 -> nothing"),
    ("<b>Halt</b>", "<b>Stop", "de-en", "markup", "</b> -> nothing"),
    ("Halt", "**Stop**", "de-en", "markup", "nothing -> **Stop**"),
    ("**Halt** und **geh**", "**Stop** and go", "de-en", "markup", "**Halt** -> nothing"),
    ("[Halt](a.html)", "[Stop](b.html)", "de-en", "markup", "[Halt](a.html) -> [Stop](b.html)"),
    ("Hallo {name}, %s!", "Hello {nome}, %s!", "de-en", "placeholders", "{name} -> {nome}"),
    ("%s of %s.", "%1$s: %1$s.", "en-de", "placeholders", "%s -> %1$s"),
    ("%s of %d.", "%1$d: %2$s.", "en-de", "placeholders", "%s, %d -> %1$d, %2$s"),
    ("%s of %s.", "%3$s: %1$s.", "en-de", "placeholders", "%s -> %3$s, %1$s"),
    ("今天下雨。", "今天下雨。", "zh-en", "copy", "the source"),
    ("Сегодня дождь.", "Сегодня дождь.", "ru-en", "copy", "the source"),
    ("Danke dir!", "Danke dir!", "de-en", "copy", "the source"),
    ("Why not?", "Why not?", "en-zh", "copy", "the source"),
    ("他今天没有来上班，因为病了。", "He did not come, 因为病了。", "zh-en", "mixed", "因为病了"),
    (
        "Er kam nicht, weil er den Bus verpasst hat.",
        "He did not come, weil er den Bus.",
        "de-en",
        "mixed",
        "weil er den Bus",
    ),
    (
        "He did not come because he missed the bus.",
        "Он не пришёл, because he missed the bus.",
        "en-ru",
        "mixed",
        "because",
    ),
    ("एफ.ए.ए. ने कहा कि यह नियम है।", "The एफ.ए.ए. said that it is a rule.", "hi-en", "mixed", "एफएए"),
    ("Es regnet.", "It rains. (Note: literal.)", "de-en", "preamble", "Note:"),
    ("Es regnet.", "It rains. [Translator's note: of water]", "de-en", "preamble", "note:"),
    ("It rains.", "下雨了。（注：直译。）", "en-zh", "preamble", "注："),
    ("It rains.", "Prší. (Poznámka: doslova.)", "en-cs", "preamble", "Poznámka:"),
    ("Es regnet.", "It rains.\n\nLet me know if you need anything else!", "de-en", "preamble", "Let me know"),
    ("Es regnet.", "I'm sorry, but I can't assist with that request.", "de-en", "refusal", "I'm sorry"),
    ("It rains.", "抱歉，我无法翻译这段内容。", "en-zh", "refusal", "抱歉"),
    ("Es kamen 3 Gäste.", "Guests came.", "de-en", "numbers", "3 -> nothing"),
    ("Es kamen 500 Gäste.", "Guests came.", "de-en", "numbers", "500 -> nothing"),
    ("And 15 million people came.", "Und Millionen Menschen kamen.", "en-de", "numbers", "15 -> nothing"),
    ("三个人，12月5日", "3 people on December 7", "zh-en", "numbers", "5 -> 7"),
    ("Die Preise stiegen um 3,7 Prozent.", "Prices rose by 37 percent.", "de-en", "numbers", "3.7 -> 37"),
    ("Die Preise stiegen um 3,7 Prozent.", "Prices rose by 7.3 percent.", "de-en", "numbers", "3.7 -> 7.3"),
    ("Der Kurs fiel um 0,5 Prozent.", "The price fell by 5 percent.", "de-en", "numbers", "0.5 -> 5"),
    (
        "Бюджет — 12 миллионов рублей.",
        "The budget is 12 billion roubles.",
        "ru-en",
        "numbers",
        "12000000 -> 12000000000",
    ),
    ("预算为3000万元。", "The budget is 300 million yuan.", "zh-en", "numbers", "30000000 -> 300000000"),
    ("बजट २५ करोड़ रुपये है।", "The budget is 25 million rupees.", "hi-en", "numbers", "250000000 -> 25000000"),
    ("الميزانية ٢٥ مليون دولار.", "The budget is 25 billion dollars.", "ar-en", "numbers", "25000000 -> 25000000000"),
    ("The city has 35,000 inhabitants.", "그 도시의 인구는 3만 6000명이다.", "en-ko", "numbers", "35000 -> 36000"),
    ("It opened in 2019.", "เปิดในปี พ.ศ. 2561", "en-th", "numbers", "2019 -> 2561"),
    ("26 млн 773 тыс.", "26 billion 773 thousand", "ru-en", "numbers", "26000000 -> 26000000000"),
    ("Er verlor 5 zu 4 gegen García.", "He lost 3 to 4 against García.", "de-en", "numbers", "5 -> 3"),
    ("1 करोड़ 20 लाख लोग", "1.2 million people", "hi-en", "numbers", "12000000 -> 1200000"),
    ("Sieben Männer kamen.", "Nine men came.", "de-en", "numbers", "7 -> 9"),
    ("В ХХ веке", "In the XXI century", "ru-en", "numbers", "20 -> 21"),
    ("Ich habe kein Geld 😀.", "Ich habe kein Geld.", "de-en", "copy", "the source"),
    ("Elle chante très bien", "❤️ Elle chante très bien 👍🏽", "fr-en", "copy", "the source"),
    ("सात लोग आए।", "Eight people came.", "hi-en", "numbers", "7 -> 8"),
    ("Ludwig XIV. regierte lange.", "Louis XVI reigned for a long time.", "de-en", "numbers", "14 -> 16"),
    ("There are 40 students.", "Opiskelijoita on paljon.", "en-fi", "numbers", "40 -> nothing"),
    ("There are 40 students.", "هناك طلاب كثيرون.", "en-ar", "numbers", "40 -> nothing"),
    ("Děkuji vám za pomoc.", "„Děkuji vám za pomoc“", "cs-en", "copy", "the source"),
    ("Он не пришёл домой.", "Он не пришел домой", "ru-en", "copy", "the source"),
    ("Danke dir.", "- Danke dir!", "de-en", "copy", "the source"),
    ("It rains and the wind is strong.", "雨が降って、風が強いのです。", "en-zh", "language", "Japanese"),
    (
        "We all know that this is what he wants to do now.",
        "我们都知道，这就是他现在要做的事，你们也会同意的。",
        "en-ja",
        "language",
        "Chinese",
    ),
    (
        "The company opened a new factory in the north.",
        "Ettevõte avas põhjas uue tehase ja see oli väga suur.",
        "en-de",
        "language",
        "Estonian",
    ),
    *(
        (ROAD, output, f"en-{expected}", "language", language)
        for expected, language, output in (
            ("ar", "Urdu", "برف کی وجہ سے سڑک بند ہے، لیکن اسکول کھلا ہے۔"),
            ("fa", "Arabic", "الطريق مغلق بسبب الثلج الذي سقط في الليل، لكن المدرسة مفتوحة."),
            ("ur", "Persian", "جاده به دلیل برف بسته است، اما مدرسه باز است."),
            ("hi", "Marathi", "बर्फामुळे रस्ता बंद आहे, पण शाळा उघडी आहे."),
            ("mr", "Hindi", "बर्फ़ के कारण सड़क बंद है, लेकिन स्कूल खुला है।"),
            ("be", "Russian", "Дорога закрыта из-за снега, но школа открыта, и там есть дети, как и всегда."),
            ("mk", "Serbian", "Пут је затворен због снега, али је школа отворена и сви су тамо."),
            ("is", "Spanish", "La carretera está cerrada por la nieve, pero la escuela está abierta."),
            ("nl", "Albanian", "Rruga është e mbyllur për shkak të borës, por shkolla është e hapur."),
        )
    ),
    ("Die Straße ist wegen Schnee gesperrt.", ROAD, "de-sq", "language", "English"),
    ("You come home very late.", "It is late", "en-da", "language", "English"),
    ("Prší.", "It rains.\n\nWould you like another version?", "cs-en", "preamble", "Would you"),
    ("It rains.", "Идёт дождь. (Перевод сохраняет стиль.)", "en-ru", "preamble", "(Перевод"),
    ("It rains.", "下雨了。（原文为口语）", "en-zh", "preamble", "（原文"),
    ("It rains.", "الترجمة: إنها تمطر.", "en-ar", "preamble", "الترجمة:"),
    ("It rains.", "Tässä on käännös: Sataa.", "en-fi", "preamble", "Tässä on käännös:"),
    ("Prší.", "English: It rains.", "cs-en", "preamble", "English:"),
    ("It rains.", "Jistě! Zde je překlad: Prší.", "en-cs", "preamble", "Jistě! Zde je překlad"),
    ("He hit him with the hammer.", "عذرًا، لا يمكنني ترجمة هذا النص.", "en-ar", "refusal", "عذر"),
    (
        "He hit him with the hammer.",
        "Valitettavasti en voi kääntää tätä tekstiä.",
        "en-fi",
        "refusal",
        "Valitettavasti",
    ),
    ("He hit him with the hammer.", "Je ne peux pas traduire ce texte.", "en-fr", "refusal", "Je ne peux pas"),
    ("Er schlug ihn mit dem Hammer.", "I must decline this request.", "de-en", "refusal", "I must decline"),
    ("Er schlug ihn mit dem Hammer.", "nan", "de-en", "empty", "nan"),
    ("He laughed.", "हाहाहाहाहाहाहाहाहाहाहाहाहाहा", "en-hi", "repetition", "हा (14 times)"),
]


@pytest.mark.parametrize(("source", "output", "lp", "check", "what"), FAILS)
def test_an_output_fails_one_check(source, output, lp, check, what):
    failed = found(source, output, lp)
    assert failed.keys() == {check}
    assert failed[check].startswith(what) or what in failed[check]


SOUND = [
    *(
        (ROAD, output, f"en-{language}")
        for language, output in (
            ("ar", "الطريق مغلق بسبب الثلج الذي سقط في الليل، لكن المدرسة مفتوحة."),
            ("fa", "جاده به دلیل برف بسته است، اما مدرسه باز است."),
            ("ur", "برف کی وجہ سے سڑک بند ہے، لیکن اسکول کھلا ہے۔"),
            ("hi", "बर्फ़ के कारण सड़क बंद है, लेकिन स्कूल खुला है।"),
            ("mr", "बर्फामुळे रस्ता बंद आहे, पण शाळा उघडी आहे."),
            ("ne", "हिउँका कारण बाटो बन्द छ, तर विद्यालय खुला छ।"),
            ("be", "Дарога закрыта з-за снегу, але школа яшчэ адкрытая, і там ёсць дзеці."),
            ("mk", "Патот е затворен поради снегот, но училиштето е отворено и сите се таму."),
            ("sr", "Put je zatvoren zbog snega, ali je škola otvorena i svi su tamo."),
            ("ca", "La carretera està tancada per la neu, però l'escola és oberta."),
            ("gl", "A estrada está pechada pola neve, pero a escola está aberta."),
            ("is", "Vegurinn er lokaður vegna þess að það snjóaði, en skólinn er opinn."),
            ("af", "Die pad is toe as gevolg van die sneeu, maar die skool is oop."),
            ("ms", "Jalan itu ditutup kerana salji, tetapi sekolah itu dibuka."),
        )
    ),
    *(
        (MEETING, output, f"en-{language}")
        for language, output in (
            ("ur", "کمیٹی اگلے ہفتے تجویز پر دوبارہ بات کرے گی۔"),
            ("hy", "Հանձնաժողովը կքննարկի առաջարկը հաջորդ շաբաթ։"),
            ("my", "ကော်မတီသည် လာမည့်အပတ်တွင် ထပ်မံတွေ့ဆုံမည်။"),
            ("km", "គណៈកម្មាធិការនឹងជួបម្ដងទៀតនៅសប្ដាហ៍ក្រោយ។"),
            ("am", "ኮሚቴው በሚቀጥለው ሳምንት እንደገና ይሰበሰባል።"),
            ("th", "คณะกรรมการจะประชุมหารือข้อเสนอนี้สัปดาห์หน้า"),
            ("lo", "ຄະນະກຳມະການຈະປະຊຸມອີກໃນອາທິດໜ້າ"),
            ("ja", "委員会は来週｡"),
        )
    ),
    ("Er zahlte 1.000,50 Euro.", "He paid 1,000.5 euros.", "de-en"),
    ("1,5 Millionen Menschen", "1,500,000 people", "de-en"),
    ("他花了30万元。", "He spent 300,000 yuan.", "zh-en"),
    ("4月1日下午3点", "at 15:00 on April 1", "zh-en"),
    ("三个人，12月5日", "3 people on December 5", "zh-en"),
    ("3 Männer", "three men", "de-en"),
    ("am 01.04.2015", "on April 1, 2015", "de-en"),
    ("in den 90er Jahren", "in the 1990s", "de-en"),
    ("१२ लोग", "12 people", "hi-en"),
    ("Barack Obama, Berlin", "Barack Obama, Berlin", "de-en"),
    ("top, top, top, top", "Spitze, Spitze, Spitze, Spitze", "en-de"),
    *(
        (source, output, f"en-{language}")
        for language, source, output in (
            ("my", "Very well.", "ကောင်းကောင်း။"),
            ("my", "He speaks English well.", "သူ အင်္ဂလိပ်စကား ကောင်းကောင်း ပြောတတ်တယ်။"),
            ("my", "many kinds of places", "နေရာအမျိုးမျိုး"),
            ("km", "little by little", "បន្តិចបន្តិច"),
            ("th", "Hurry up, hurry up!", "เร็วเข้าเร็วเข้า"),
            ("th", "city by city", "เมืองเมือง"),
            ("lo", "good", "ດີດີ"),
            ("bo", "slowly", "ག་ལེ་ག་ལེ"),
            ("ja", "The train rattled along.", "ガタンゴトンガタンゴトン"),
            ("zh", "Hurry up, hurry up!", "快点快点！"),
            ("zh", "Thank you! Thank you!", "谢谢！谢谢！"),
            ("th", "It is very, very, very good!", "ดีมากมากมาก"),
        )
    ),
    ("如果宇宙是空的，如果宇宙是空的。", "If the universe is empty, if the universe is empty.", "zh-en"),
    (f"See {WIKI}/Köln.", f"Siehe {WIKI}/K%C3%B6ln.", "en-de"),
    (f"See {WIKI}/Москва, now.", f"См. {WIKI}/Москва;", "en-ru"),
    (f"See {WIKI}/हिन्दी.", f"{WIKI}/हिन्दी देखें।", "en-hi"),
    (f"See {WIKI}/日本 now.", f"今、{WIKI}/日本を見る。", "en-ja"),
    (f"See {WIKI}/%E6%97%A5%E6%9C%AC now.", f"今、{WIKI}/日本を見る。", "en-ja"),
    (f"See {WIKI}/ now.", f"今、{WIKI}/を見る。", "en-ja"),
    (f"现在看{WIKI}/看看吧", f"今、{WIKI}/を見る。", "zh-ja"),
    (f"See {WIKI}/.", f"{WIKI}/를 보세요.", "en-ko"),
    ("It opened in 2019.", "เปิดในปี พ.ศ. 2562", "en-th"),
    ("เปิดในปี พ.ศ. ๒๕๖๒", "It opened in 2019.", "th-en"),
    ("Übersetzung: Regen", "Translation: rain", "de-en"),
    ("iPhone 12 Pro Max", "iPhone 12 Pro Max", "en-zh"),
    ('<a href="x">Hier</a>', '<a href="y">Here</a>', "de-en"),
    ("Es gibt &amp; nicht %", "There is &amp; no %", "de-en"),
    (
        "Es wird lange dauern, ich kann nichts dafür. ",
        "I can't help it. It will take a long time to get there.",
        "de-en",
    ),
    ("Tut mir leid, da kann ich nicht helfen.", "I'm sorry, I can't help you with that.", "de-en"),
    ("Hinweis: Es regnet.", "It is so. Note: it rains.", "de-en"),
    ("Es regnet (Anmerkung: draußen).", "It rains (note: outside).", "de-en"),
    ("සටහන: වැසි.", "It is so. Note: rain.", "si-en"),
    ("Vincent van Gogh", "Vincent van Gogh", "nl-en"),
    ("Johann Wolfgang von Goethe", "Johann Wolfgang von Goethe", "de-en"),
    ("Lord of the Rings", "Lord of the Rings", "en-de"),
    ("https://example.org/the/way-of-all-things", "https://example.org/the/way-of-all-things", "en-de"),
    ("555 123-1234, 555 123-1235", "555 123-1234, 555 123-1235", "de-en"),
    ("SELECT name FROM users WHERE id = 5;", "SELECT name FROM users WHERE id = 5;", "en-de"),
    ("npm install ranker", "npm install ranker", "en-de"),
    ("He have gone to the house by bus.", "He have gone to the house by bus.", "en-en"),
    ("He have gone to the house by bus.", "He has gone to the house by bus.", "en_US-en_GB"),
    ("See https://example.org/how-to-be-on-time now", "Siehe https://example.org/how-to-be-on-time jetzt", "en-de"),
    ('There is truth in "No man is an island."', "In „No man is an island“ ist etwas Wahres.", "en-de"),
    ("@anna das ist so!", "@anna so it is!", "de-en"),
    ("Das Café Déjà Vu", "The café Déjà Vu", "de-en"),
    ("Er las „Lord of the Rings“.", "He read Lord of the Rings.", "de-en"),
    ("Es kamen 3 Gäste um 15 Uhr, 12 waren 20 Jahre alt.", "At 3 pm, three guests came, a dozen aged twenty.", "de-en"),
    ("3 men of seven", "7 人中的三人", "en-zh"),
    ("予算は5億2000万円です。", "The budget is 520 million yen.", "ja-en"),
    ("1亿4千万人", "140 million people", "zh-en"),
    ("共1,200万5000人", "12,005,000 people in all", "zh-en"),
    ("The city has 35,000 inhabitants.", "그 도시의 인구는 3만 5000명이다.", "en-ko"),
    ("They counted 123,456 people.", "그들은 12만 3456명을 셌다.", "en-ko"),
    ("관객 1만 2345명이 왔다.", "12,345 spectators came.", "ko-en"),
    ("관객 1만 234명이 왔다.", "10,234 spectators came.", "ko-en"),
    ("예산은 3억 5000만 원이다.", "The budget is 350 million won.", "ko-en"),
    ("1억 2345만 6789명", "123,456,789 people", "ko-en"),
    ("販売は3万 5000台だった。", "35,000 were sold.", "ja-en"),
    ("销量突破3万 2019年开业。", "Sales passed 30,000; it opened in 2019.", "zh-en"),
    ("عدد الطلاب ١٬٢٥٠ وثلثهم ٢٫٥", "1,250 students, a third of them 2.5", "ar-en"),
    ("There are 125,000 students.", "यहाँ 1,25,000 छात्र हैं।", "en-hi"),
    ("2,5 miliardy korun", "2,500 million crowns", "cs-en"),
    ("It costs 1.5 trillion dollars.", "Es kostet 1,5 Billionen Dollar.", "en-de"),
    ("2.000 millones de pesos", "2 billion pesos", "es-en"),
    ("据统计达417.6万", "There were 4.176 million", "zh-en"),
    ("The 19th century was long.", "XIX век был долгим.", "en-ru"),
    ("The 20th century was long.", "ХХ век был долгим.", "en-ru"),
    ("The 19th century was long.", "ХІХ століття було довгим.", "en-uk"),
    ("The 37-year-old man left.", "Sedmatřicetiletý muž odešel.", "en-cs"),
    ("He is 42 years old.", "Je mu dvaačtyřicet let.", "en-cs"),
    ("33 लाख 40 हज़ार लोग", "3.34 million people", "hi-en"),
    ("1 करोड़ 20 लाख लोग", "12 million people", "hi-en"),
    ("३३ लाख ४० हजार ५०० मानिस", "3,340,500 people", "ne-en"),
    ("1 કરોડ 20 લાખ લોકો", "12 million people", "gu-en"),
    ("1 млн 200 тыс. рублей", "1.2 million roubles", "ru-en"),
    ("2 Millionen 500 Tausend Euro", "2.5 million euros", "de-en"),
    ("3 Millionen Hunde, 40 Tausend Katzen", "3 million dogs, 40 thousand cats", "de-en"),
    ("😀", "🎬", "de-en"),
    ("Apollo XIII landed.", "Apollo 13 landete.", "en-de"),
    ("Es ist halb vier.", "It is half past three.", "de-en"),
    ("Switch off any of the services that you do not want.", "Sammuta ne palvelut, joita et halua käyttää.", "en-fi"),
    ("Change how quickly the mouse moves.", "Thay đổi tốc độ di chuyển con trỏ dùng chuột hoặc touchpad.", "en-vi"),
    (
        "Lock the org.gnome.shell.enabled-extensions and org.gnome.shell.development-tools keys",
        "Заблокировать ключи org.gnome.shell.enabled-extensions и org.gnome.shell.development-tools",
        "en-ru",
    ),
    ("It reads SD, MMC, SM, MS, CF and others.", "Čte SD, MMC, SM, MS, CF a jiné.", "en-cs"),
    (
        "Press F or F11 to view it. Press F or F11 again to leave.",
        "Aby wyświetlić, naciśnij klawisz F lub F11. Naciśnij klawisz F lub F11 ponownie, aby wyjść.",
        "en-pl",
    ),
    (
        "Anti-virus software is always running. It needs memory.",
        "电脑总在运行防病毒软件。防病毒软件需要内存。",
        "en-zh",
    ),
    ("It sold 3.5 million cars.", "Es verkaufte dreieinhalb Millionen Autos.", "en-de"),
    ("It sold 3.5 million cars.", "Elle a vendu trois millions et demi de voitures.", "en-fr"),
    ("It took 3.5 hours.", "Es dauerte 3½ Stunden.", "en-de"),
    ("It took 3.5 hours.", "Es dauerte drei und eine halbe Stunde.", "en-de"),
    ("Es dauerte 3,5 Stunden.", "It took three and a half hours.", "de-en"),
    ("Es dauerte 3,5 Stunden.", "It took three-and-a-half hours.", "de-en"),
    ("It took 3.5 hours.", "Het duurde drie en een half uur.", "en-nl"),
    ("It took 3.5 hours.", "Levou três horas e meia.", "en-pt"),
    ("It took 3.5 hours.", "Trwało to trzy i pół godziny.", "en-pl"),
    ("It took 3.5 hours.", "Trvalo to tři a půl hodiny.", "en-cs"),
    ("It took 3.5 hours.", "Это заняло три с половиной часа.", "en-ru"),
    ("It took 3.5 hours.", "Se kesti kolme ja puoli tuntia.", "en-fi"),
    ("It took 3.5 hours.", "استغرق الأمر ثلاث ساعات ونصف.", "en-ar"),
    ("It took 3.5 hours.", "इसमें साढ़े तीन घंटे लगे।", "en-hi"),
    ("It took 3.5 hours.", "花了三个半小时。", "en-zh"),
    ("It took 3.5 hours.", "花了 3 个半小时。", "en-zh"),
    ("（记者李丽）", "(Reporter Li Li)", "zh-en"),
    (
        "Nouri Al Maliki veut une « guerre mondiale » contre Al-Qaïda",
        'Nouri Al Maliki wants a "global war" against Al-Qaida.',
        "fr-en",
    ),
    ("It took 3.5 hours.", "3 時間半かかった。", "en-ja"),
    ("It is 3.5 metres long.", "長さは3メートル半です。", "en-ja"),
    ("It took 3.5 hours.", "Trwało to trzy i\u00a0pół godziny.", "en-pl"),
    ("It took 3.5 hours.", "Trvalo to tři a\u00a0půl hodiny.", "en-cs"),
    ("It took 3.5 hours.", "Es dauerte drei und  eine halbe Stunde.", "en-de"),
    ("It took 3.5 hours.", "استغرق الأمر ثلاث ساعات و نصف.", "en-ar"),
    ("It took 3.5 years.", "3年半かかった。", "en-ja"),
    ("It took 3.5 hours.", "3時間半かかった。", "en-ja"),
    ("La empresa vendió tres millones y medio de coches.", "It sold 3.5 million cars.", "es-en"),
    ("It sold 4.5 million cars.", "Ha venduto quattro milioni e mezzo di auto.", "en-it"),
    ("It sold 3.5 million cars.", "Het verkocht drieënhalf miljoen auto's.", "en-nl"),
    ("Sie hat acht auf das Kind gegeben.", "She looked after the child.", "de-en"),
    ("会议两点半开始。", "The meeting starts at 2:30.", "zh-en"),
    ("p < .05", "p < 0,05", "en-de"),
    ("Hier ist die neue Version des Programms.", "Here is the new version of the program.", "de-en"),
    ("Als KI-Forscher kenne ich das.", "As an AI researcher, I know this.", "de-en"),
    ("Ergebnis: Er starb.", "Result: he died.", "de-en"),
    ("Er lachte. (Beifall)", "He laughed. (Applause)", "de-en"),
    ("Erste Zeile.\nZweite Zeile.", "First line.\n\nSecond line.", "de-en"),
    ("Keine.", "None", "de-en"),
    ("Tooooooooooooooooooor!", "Goooooooooooooooooooal!", "de-en"),
    ("UN Security Council permanent members", "国際連合安全保障理事会常任理事国", "en-ja"),
    ("15 guests", "十五位客人", "en-zh"),
    ("500 guests", "fünfhundert Gäste", "en-de"),
    ("百分之二十三的人", "23% of people", "zh-en"),
    ("Follow me on example.com/some_of_us", "मुझे example.com/some_of_us पर फॉलो करें", "en-hi"),
    ("?!", "?!", "de-en"),
    ("<section id=opening></section>", '<section id="opening"></section>', "en-hi"),
    ("This is the monstera deliciosa.", "Это monstera deliciosa.", "en-ru"),
    ('Im Kino läuft "Das Leben der Anderen".', 'At the cinema, "Das leben der Anderen" is on.', "de-en"),
    *(
        (source, output, f"en-{language}")
        for language, source, output in (
            ("de", 'See <a href="%s">%s</a> for details.', 'Siehe <a href="%s">%s</a> für Details.'),
            ("de", 'Read the <b class="note of the day">terms</b>.', 'Lies die <b class="note of the day">Regeln</b>.'),
            ("de", "Error in option --gdk-no-debug.", "Fehler in Option --gdk-no-debug."),
            ("de", "Dear {first_name} {last_name} of {the_company}!", "Hallo {first_name} {last_name}, {the_company}!"),
            ("es", "%(from)s-%(to)s relationship", "Relación %(from)s-%(to)s"),
            (
                "de",
                "%s of %s in %s, %-5s of %lu.",
                "%2$s: %1$s in %3$s, %5$lu: %4$-5s.",
            ),
            ("de", "%1$s of %2$s", "%s: %s"),
            ("de", "%d of %u (%.1f%%)", "%2$u: %1$d (%3$.1f%%)"),
            ("da", "View your email address", "Se din emailadresse"),
            ("pl", "Do not export functions; declare them.", "Bez eksportowania funkcji; deklaruje je jako takie"),
            ("ru", "Embedded NUL byte in conversion input", "Байт со значением NUL во входных преобразуемых данных"),
            ("ro", "In June it rained more.", "În iunie ploua mai mult."),
            ("hr", "She was born on 4 October.", "Rođena je 4. listopada."),
            ("hu", "He switched it off, then he slept.", "Kikapcsolta, azután elaludt ő is"),
            ("eu", "This is what he told us.", "Hori da guri esan du"),
            ("sk", "You authorized your %(name)s device.", "Úspešne ste autorizovali vaše zariadenie %(name)s."),
            ("ne", "He came.", "\\tऊ आयो।"),
            ("ru", "%dMB free", "%d МБ свободно"),
            ("ru", "Option --output: unknown field.", "Параметр --output: неизвестное поле."),
            ("zh", "Choose %s to view the list.\\nStop", "选择%s查看列表。\\n停"),
            ("ja", "Delete %d files?", "%d個のファイルを削除しますか?"),
            ("ko", "Cannot open %s.", "%s을 열 수 없습니다."),
            ("ja", "Click <b>%s</b> or &quot;%d&quot; here.", "<b>%s</b>または&quot;%d&quot;をクリック。"),
        )
    ),
    (
        "Like A Rolling Stone, Born In The Fields sind auch zu hören.",
        "Like a rolling stone, born in the fields can be heard too.",
        "de-en",
    ),
    (
        "**Bist du** auf [der Seite](http://x.de) hier, **ja**?",
        "**Are you** on [the page](http://x.de), **yes**?",
        "de-en",
    ),
]


@pytest.mark.parametrize(("source", "output", "lp"), SOUND)
def test_what_may_be_right_is_not_flagged(source, output, lp):
    assert not found(source, output, lp)
    assert not found("", output, lp).keys() & {*list(CHECKS)[8:], "copy", "mixed", "truncation"}


def test_an_output_may_have_no_words_where_a_reference_has_none():
    assert not found("Aha", "!", "de-en", ["!"])
    assert found("", "-", "de-en", ["It rains."]) == {"empty": "no words"}


def test_a_broken_url_of_the_source_is_no_other_language():
    source = "https://example.org/how-to-be-on-time/"
    assert [*found(source, "https: //example.org/how-to-be-on-time/", "en-cs")] == ["urls"]


COPIES = [
    ("Der Bus kam zehn Minuten zu spät.", ["The bus was ten minutes late."], True),
    ("今天下雨。", ["It is raining today.", "It rains."], True),
    ("Das ist gut.", ["C'est bien."], True),
    ("He have gone to the house by bus.", ["He has gone to the house by bus."], False),
    ("How old are you?", ["What is your age?"], False),
    ("He have gone to the house by bus.", ["He has gone to the house by bus.", "Er ging ins Haus."], False),
    ("他去了学校。", ["他到学校去了。"], False),
]


@pytest.mark.parametrize(("source", "others", "fails"), COPIES)
def test_without_a_language_pair_the_other_outputs_show_whether_a_copy_is_wrong(source, others, fails):
    texts = [source, source, *others]
    data = from_texts({str(place): [text] for place, text in enumerate(texts)}, None, [source])
    failed = check_outputs(data)
    assert failed["candidate"][failed["check"] == "copy"].tolist() == [0, 1] * fails
    # also where an output shows nothing, its reference does
    failed = check_outputs(from_texts([source], [others[:1]], [source]))
    assert ("copy" in failed["check"].tolist()) == fails


@thorough
def test_an_output_does_not_fail_for_what_a_reference_has_too():
    for source, output, lp, check, _ in FAILS:
        if check not in ("empty", "copy", "mixed") or (lp == "de-en" and check == "mixed"):
            assert check not in found(source, output, lp, [output, f"{output} Nothing."]), output


def test_a_text_fails_whatever_the_others_are():
    sources, outputs, _, checks, _ = zip(*[each for each in FAILS if each[2] == "de-en"], strict=True)
    whole = check_outputs(from_texts(outputs, None, sources, lp="de-en"))
    assert whole[["candidate", "check"]].values.tolist() == [[*each] for each in enumerate(checks)]


def test_numbers_are_read_in_any_script_and_grouping():
    assert [*numbers("１２,000 and 1 234,5 and 3.14 on 1.2.2015 at 007")] == [
        "12000",
        "1234.5",
        "3.14",
        "1",
        "2",
        "2015",
        "7",
    ]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["x", "1", "a.", "x@", "www."])
@thorough
def test_texts_of_a_million_characters_are_searched_in_one_pass(text):
    assert len(numbers(text * (1_000_000 // len(text)))) == (text == "1")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["a", "[", "[a](", "..", "汉"])
@thorough
def test_long_texts_are_checked_in_one_pass(text):
    long = text * (200_000 // len(text))
    source = f"Das ist das Haus und der Mann {long} in der Stadt"
    outputs = [f"Yes, das ist das Haus und der Mann {long}", source]
    found = check_outputs(from_texts(outputs, None, [source] * 2, lp="de-en"))
    assert found["check"][found["candidate"] == 1].tolist() == ["copy"]


def test_numbers_of_thousands_of_digits_are_compared():
    data = from_texts(["It is " + "1" * 5000], None, ["Es sind " + "2" * 5000], lp="de-en")
    assert check_outputs(data)["check"].tolist() == ["numbers"]


def test_words_of_the_source_that_a_reference_keeps_hide_no_others():
    source = "Er sagte ich habe es nicht und dann ging er in das Haus zurück."
    kept, left = "He said ich habe es nicht and", "then ging er in das Haus zurück."
    data = from_texts([f"{kept} {left}"], [f"{kept} then he went back to the house."], [source], lp="de-en")
    assert check_outputs(data)[["check", "found"]].values.tolist() == [["mixed", "ging er in das Haus zurück"]]


def test_words_that_a_reference_keeps_too_are_compared_without_the_tags_between_them():
    source = "Er sagte ich <b>habe es</b> nicht und ging."
    data = from_texts(["He said: ich habe es nicht."], ["He said, “ich habe <b>es</b> nicht”."], [source], lp="de-en")
    assert "mixed" not in check_outputs(data)["check"].tolist()


def test_failed_checks_are_counted_and_references_left_out():
    data = from_texts({"A": ["Here is the translation: 5", "ok"], "B": [" ", "**ok**"]}, None, ["4", "gut"])
    assert failures(data).tolist() == [2, 1, 0, 1]
    references = dataclasses.replace(data, candidates=data.candidates.assign(is_reference=True))
    assert not failures(references).any()


def test_an_unknown_language_is_told_by_the_references():
    english = [LONG, "It was said that he would be there when they came to the house."]
    german = ["Der Ausschuss hat sich am Montag mit den neuen Regeln für den Hafen befasst.", english[1]]
    assert check_outputs(from_texts(german, english))["found"].tolist() == ["German"]


def test_without_a_language_pair_months_of_all_languages_are_compared():
    failed = check_outputs(from_texts(["On May 4, 2015"], None, ["Am 4. März 2015"]))
    assert failed[["check", "found"]].values.tolist() == [["dates", "March -> May"]]


def test_places_of_months_are_those_of_the_language():
    data = from_texts(["Mai mult, pe 4 mai 2015"], None, ["More on 4 June 2015"], lp="en-ro")
    failed = check_outputs(data, spans=True)
    assert failed[["found", "start", "end"]].values.tolist() == [["June -> May", 13, 18]]


def test_every_check_has_its_table_and_every_name_a_pattern():
    for group, names in tables()["names"].items():
        table = tables()["dates"][group]
        assert {len(patterns.split()) for patterns in table.values()} == {len(names.split())}
    assert {"dates", "units"} <= tables().keys()
    assert [*CHECKS][-3:] == [*tables()["kept"]]


@pytest.mark.parametrize(
    ("texts", "kinds"),
    [
        (
            ["选择%s查看", "%d個", "%s을", "%dMB", "__nom__の", "_été__x__", "<b\u00a0c>", "[x](y\u2003z)", "甲\\n乙"],
            ["kept"],
        ),
        (["äMai ist", "maiä", "im\u00a0Mai", "5kmを", "ßMarch", "10月May", "3mé", "ÄpfelJUNI"], ["dates", "units"]),
    ],
)
def test_both_engines_read_patterns_alike(texts, kinds):
    def patterns(table):
        return [table] if isinstance(table, str) else [each for part in table.values() for each in patterns(part)]

    for pattern in [each for kind in kinds for each in patterns(tables()[kind])]:
        by_python = [bool(compiled(pattern).search(text)) for text in texts]
        assert matches(pa.chunked_array([texts], pa.large_string()), pattern).tolist() == by_python, pattern


def test_the_command_counts_by_system_and_lists_examples(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = [{"source": "51 Gäste", "lp": "de-en", "candidates": {"A": "15 guests", "B": "51 guests"}}]
    Path("data.json").write_text(json.dumps(records), encoding="utf-8")
    assert command("check", "data.json").out.splitlines() == [
        "lp     system  outputs  failed  numbers",
        "de-en  A             1       1        1",
        "de-en  B             1       0        0",
        "numbers: 51 -> 15 (de-en 1 A)",
        "  15 guests",
    ]
    document = json.loads(command("check", "data.json", "--json").out)
    assert [row["failed"] for row in document["systems"]] == [1, 0]
    assert document["failed"][0]["found"] == "51 -> 15"


def test_a_penalty_counts_failed_checks_per_output(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = {"references": ["51 guests"], "candidates": {"A": "15 guests", "B": "51 guests"}}
    records = [{"source": "51 Gäste", **record}, {"source": "Gast", **record}]
    Path("data.json").write_text(json.dumps(records), encoding="utf-8")

    def scores(*options: str) -> np.ndarray:
        return np.array(
            [line.split() for line in command("score", "data.json", *options).out.splitlines()], dtype=float
        )

    for level, rates in (("corpus", [0.5, 0]), ("segment", [1, 0, 0, 0])):
        options = ("-m", "chrf,ter", "--level", level, "-f", "value")
        change = scores(*options, "--penalty", "0.25") - scores(*options)
        assert change == pytest.approx(np.outer(rates, [-0.25, 0.25]))


@pytest.mark.parametrize(
    ("source", "output", "lp", "check", "side", "places"),
    [
        ("51 Gäste kamen.", "15 guests came.", "de-en", "numbers", "target", ["15"]),
        ("Es kamen 50000 Gäste.", "Guests 50,001 came.", "de-en", "numbers", "target", ["50,001"]),
        ("Im Jahr 1987 kam er.", "He came.", "de-en", "numbers", "source", ["1987"]),
        ("Rozpočet je 2,5 miliardy.", "It is 2.5 million.", "cs-en", "numbers", "target", ["2.5 million"]),
        ("Sieben Männer kamen.", "Nine men came.", "de-en", "numbers", "target", ["Nine"]),
        ("It costs 51 euros.", "تكلف ٤١ يورو.", "en-ar", "numbers", "target", ["٤١"]),
        ("It costs 1,250.5 euros.", "تكلف ١٬٢٥٠٫٧ يورو.", "en-ar", "numbers", "target", ["١٬٢٥٠٫٧"]),
        ("इसकी कीमत ५५१ यूरो है।", "It costs a lot.", "hi-en", "numbers", "source", ["५५१"]),
        ("Es regnet.", "It rains.\n\nShall I go on? Yes.", "de-en", "preamble", "target", ["Shall I go on? Yes."]),
        ("Am 4. März 2015", "On May 4, 2015", "de-en", "dates", "target", ["May 4"]),
        ("星期一开会。", "We meet on Tuesday.", "zh-en", "dates", "target", ["Tuesday"]),
        ("Es kostet 5 Euro.", "It costs $5.", "de-en", "units", "target", ["$"]),
        ("Siehe https://example.org/a.", "See.", "de-en", "urls", "source", ["https://example.org/a"]),
        ("Halt", "**Stop**", "de-en", "markup", "target", ["**Stop**"]),
        ("Hallo {name}, %s!", "Hello {nome}, %s!", "de-en", "placeholders", "target", ["{nome}"]),
        (
            "Er kam.",
            "👍 He came To the house to the house, to the house.",
            "de-en",
            "repetition",
            "target",
            ["to the house, to the house"],
        ),
        ("他来了。", "他他他他来了。", "en-zh", "repetition", "target", ["他他他"]),
        ("他今天没有来上班，因为病了。", "He did not come, 因为病了。", "zh-en", "mixed", "target", ["因为病了"]),
        (
            "Es regnet.",
            "Sure! Here is the translation: It rains.",
            "de-en",
            "preamble",
            "target",
            ["Sure! Here is the translation"],
        ),
        ("Der Bus kam zu spät.", " Der Bus kam zu spät. ", "de-en", "copy", "target", ["Der Bus kam zu spät."]),
        (
            "Er kam nicht, weil er den %s Bus verpasst hat.",
            "He did not come, weil er <b>den</b> %s Bus.",
            "de-en",
            "mixed",
            "target",
            ["weil er <b>den</b> %s Bus"],
        ),
        ("**eins, zwei** drei", "one two three", "de-en", "markup", "source", ["**eins, zwei**"]),
        ("eins <br/> zwei", "one two", "de-en", "markup", "source", ["<br/>"]),
        (LONG, "Menü: Datei -> Speichern und", "en-de", "truncation", "target", [None]),
        ("Es regnet.", " ", "de-en", "empty", "target", [None]),
    ],
)
def test_faults_have_places(source: str, output: str, lp: str, check: str, side: str, places: list[str | None]) -> None:
    frame = check_outputs(from_texts([output], None, [source], lp=lp), spans=True)
    rows = frame[frame["check"] == check].to_dict("records")
    text = {"target": output, "source": source}[side]
    assert [None if pd.isna(row["start"]) else text[row["start"] : row["end"]] for row in rows] == places
    assert {(row["side"], row["category"], row["rater"], row["severity"]) for row in rows} == {
        (side, check, "ranker", "major")
    }


@thorough
def test_places_do_not_change_what_fails() -> None:
    sources, outputs, pairs = zip(*[case[:3] for case in FAILS], strict=True)
    for source, output, lp in zip(sources, outputs, pairs, strict=True):
        data = from_texts([output], None, [source], lp=lp)
        plain, placed = check_outputs(data), check_outputs(data, spans=True)
        assert placed["check"].drop_duplicates().tolist() == plain["check"].tolist()
        inside = placed["start"].notna()
        lengths = [len({"target": output, "source": source}[side]) for side in placed["side"][inside]]
        assert all(placed["end"][inside] <= lengths)


@pytest.mark.parametrize("spans", [False, True])
def test_a_candidate_of_a_frame_is_its_row_and_the_table_is_the_callers_own(spans):
    outputs = {
        "A": ["Ein Haus.", "Es kostet 51 Euro."],
        "B": ["Here is the translation: A house.", "It costs 15 euros."],
    }
    data = from_texts(outputs, None, ["Ein Haus.", "Es kostet 51 Euro."], lp="de-en")
    frame = data.to_frame().sort_values("system").set_axis([7, 7, "x", None])
    found = check_outputs(frame, spans=spans)
    assert found["text"].tolist() == frame["text"].iloc[found["candidate"]].tolist()
    assert {*found["candidate"]} == {1, 2, 3}
    first = check_outputs(data, spans=spans)
    first["found"] = "changed"
    assert "changed" not in {*check_outputs(data, spans=spans)["found"]}


def test_how_a_tag_is_closed_and_broken_into_lines_does_not_matter() -> None:
    assert not found("eins<br />zwei", "one<br/>two")
    assert not found("eins<br>zwei", "one<br/>two")
    assert not found("<a href='x'>eins</a>", "<a\nhref='y'>one</a>")


@pytest.mark.parametrize("text", ["ᐅᖃᐅᓯᖃᕈᓐᓇᕐᒪᖔᑕ ᐃᓄᒃᑎᑑᖅᑐᓂ ᓄᓇᕗᑦ", "uqausiqarunnarmangata inuktituuqtuni nunavut"])
def test_inuktitut_is_written_in_syllabics_or_latin_letters(text: str) -> None:
    assert not found("The government speaks.", text, "en-iu")
    assert "language" in found("The government speaks.", "Правительство говорит сегодня", "en-iu")
