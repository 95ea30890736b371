from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from ranker import from_frame, from_records, from_texts, load_dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.segment_scores import SegmentScores
from ranker.corpora.formats.shards import Shards
from ranker.corpora.languages import (
    UNKNOWN_PAIR,
    LanguagePair,
    contradict,
    is_language,
    language_code,
    language_pair,
    names_two_languages,
    unicode_scripts,
)
from ranker.corpora.selection import of_language_pairs
from ranker.corpora.shards.making import make_shards
from ranker.errors import DataError
from ranker.extractors.meteor.metric import Meteor

SPELLINGS = {
    "en-zh": [
        *["en-zh", "en_zh", "eng-zho", "EN-ZH", "en-chi", "en-cmn", "English-Chinese", "en>zh", "en→zh"],
        *["en -> zh", "en–zh", "en--zh", "English-Simplified Chinese", "English-Chinese (Taiwan)"],
    ],
    "en-zh_CN": ["en-zh_CN", "en_zh_CN", "eng-zho_CN", "en-zh-CN"],
    "en-zh_Hans": ["en-zh-Hans", "en-zho_Hans"],
    "zh_CN-en": ["zh_CN-en", "zh-CN-en", "zho_CN-eng"],
    "pt_BR-en_US": ["pt_BR-en_US", "por_BR_eng_US"],
    "ja-ko": ["jpn-kor", "ja_ko"],
    "en-fa": ["eng-fas", "en-per", "en-pes"],
    "aa-bb": ["aa-bb"],
    "zh_CN-en_US": ["zh-cn-en-us", "ZH-CN-EN-US", "zh_cn-en_us", "ZH_CN-EN_US"],
    "pt_BR-en": ["pt-br-en", "PT-BR-EN", "pt-BR-EN", "pt_br-en"],
    "fr_CA-en": ["FR-CA-EN", "fr-ca-en", "fr-ca->en"],
    "de_DE-en": ["de-de-en"],
    "es_AR-en": ["es-ar-en"],
    "de_DE-fr": ["de-de-fr"],
    "nl-fr_BE": ["nl-fr-be"],
    "en-pt_BR": ["en-pt-br", "EN-PT-BR"],
    "en_US-de_DE": ["en-us-de-de", "EN-US-DE-DE", "en_us_de_de"],
    "sr_Latn_RS-en": ["sr-Latn-RS-en", "sr-latn-rs-en", "SR-LATN-RS-EN"],
    "en-es_419": ["en-es-419", "EN-ES-419"],
    "en-de_1996": ["en-de-1996"],
    "en_Latn-zh_Hant": ["eng_Latn-zho_Hant", "eng_latn-zho_hant", "ENG_LATN-ZHO_HANT"],
    "en-az": ["en-azj", "English-Azerbaijani", "English-Azərbaycanca"],
    "en-he": ["en-iw", "English-עברית"],
    "fa-en": ["Farsi-English", "فارسی-English"],
}


@pytest.mark.parametrize(("pair", "name"), [(pair, name) for pair, names in SPELLINGS.items() for name in names])
def test_a_language_pair_has_one_form(name: str, pair: str) -> None:
    assert language_pair(name) == pair
    assert language_pair(pair) == pair
    assert [LanguagePair(name).source, LanguagePair(name).target] == [side.split("_")[0] for side in pair.split("-")]


@pytest.mark.parametrize(
    "name", ["fr-ca-es", "FR-CA-ES", "en-de-fr", "ca-es-es", "wmt-en-de", "zh-CN", "pt-BR", "en_US"]
)
def test_what_could_be_several_pairs_or_none_is_noted_and_has_no_languages(name: str, caplog) -> None:
    pair = LanguagePair(language_pair(name))
    assert (pair, pair.source, pair.target) == (name, None, None)
    assert not names_two_languages(name)
    data = from_records([ROW, {**ROW, "source": "b", "lp": name}])
    assert data.language_pairs == ["?", name]
    what = f"record 1: lp {name!r} is not clearly a pair of languages, so its languages count as unknown"
    assert [record.getMessage() for record in caplog.records] == [
        f"ranker: note: records: {what}: write it as en-de or, with regions, as en_US-zh_CN"
    ]


@pytest.mark.parametrize("name", ["news", "all", "multi-en", "xx-en", "fr-CA-es", "en-de_DE"])
def test_labels_and_clear_pairs_bring_no_note(name: str, caplog) -> None:
    from_records([{**ROW, "lp": name}])
    assert not caplog.text


def test_regions_of_any_case_are_chosen_by_any_case() -> None:
    data = from_records([{**ROW, "source": lp, "lp": lp} for lp in ("zh-cn-en", "ZH_TW-EN", "de-en")])
    assert of_language_pairs(data, ["*-en"]).language_pairs == ["de-en", "zh_CN-en", "zh_TW-en"]
    assert of_language_pairs(data, ["zh-en"]).language_pairs == ["zh_CN-en", "zh_TW-en"]
    assert of_language_pairs(data, ["zh-cn-en"]).language_pairs == ["zh_CN-en"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *[("zh-cn", "zh_CN"), ("ZH_HANS", "zh_Hans"), ("Mandarin Chinese", "zh"), ("Latin American Spanish", "es")],
        *[("Norwegian Bokmål", "nb"), ("Deutsch", "de"), ("中文", "zh"), ("Scottish Gaelic", "gd"), ("Latin", "la")],
        *[("Simplified Chinese", "zh"), ("Brazilian Portuguese", "pt"), ("English (US)", "en")],
        *[("Old English", None), ("not English", None), ("Low German", None), ("Ancient Greek", None)],
    ],
)
def test_words_beside_the_name_of_a_language_name_a_variety_of_it(name: str, code: str | None) -> None:
    assert language_code(name) == code


def test_codes_of_one_language_do_not_contradict_each_other() -> None:
    assert not any(contradict("en-no", f"en-{code}") for code in ("nb", "nn", "no"))
    assert not contradict("en-he", "en-iw")
    assert contradict("en-no", "en-sv")


@pytest.mark.parametrize("name", ["?", "-", "", "news", "a-b", "de-en.x", "en-de-fr", "english_to_german", "any-en"])
def test_what_is_no_language_pair_stays_as_it_is(name: str) -> None:
    assert language_pair(name) == name
    assert not names_two_languages(name)


FLORES = re.findall(
    r"\S+",
    """
    acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab als_Latn amh_Ethi apc_Arab arb_Arab arb_Latn ars_Arab ary_Arab
    arz_Arab asm_Beng azj_Latn bel_Cyrl ben_Beng bod_Tibt bos_Latn bul_Cyrl cat_Latn ces_Latn ckb_Arab cym_Latn
    dan_Latn deu_Latn ell_Grek eng_Latn epo_Latn est_Latn eus_Latn fin_Latn fra_Latn gaz_Latn gla_Latn gle_Latn
    glg_Latn guj_Gujr hat_Latn hau_Latn heb_Hebr hin_Deva hrv_Latn hun_Latn hye_Armn ind_Latn isl_Latn ita_Latn
    jav_Latn jpn_Jpan kan_Knda kat_Geor kaz_Cyrl khk_Cyrl khm_Khmr kir_Cyrl kmr_Latn kor_Hang lao_Laoo lit_Latn
    lvs_Latn mal_Mlym mar_Deva mkd_Cyrl mlt_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva ory_Orya pan_Guru
    pbt_Arab pes_Arab plt_Latn pol_Latn por_Latn prs_Arab ron_Latn rus_Cyrl san_Deva sin_Sinh slk_Latn slv_Latn
    snd_Arab som_Latn spa_Latn srp_Cyrl sun_Latn swe_Latn swh_Latn tam_Taml tel_Telu tgl_Latn tha_Thai tur_Latn
    uig_Arab ukr_Cyrl urd_Arab uzn_Latn vie_Latn xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zsm_Latn
    zul_Latn
    """,
)


@pytest.mark.parametrize("code", FLORES)
def test_codes_of_flores_are_codes_of_listed_languages(code: str) -> None:
    pair = LanguagePair(language_pair(f"eng_Latn-{code}"))
    assert pair.source == "en"
    assert is_language(pair.target or "")
    assert (pair.source_script, pair.target_script) == ("Latn", code[4:])
    assert unicode_scripts(pair.target_script)


def test_lookups_are_by_the_language_that_includes_a_language() -> None:
    assert [LanguagePair(f"en-{code}").target for code in ("nb", "yue_Hant", "arz", "prs", "ckb")] == [
        *["no", "zh", "ar", "fa", "ku"]
    ]
    assert LanguagePair("en-yue_Hant").target_tag == "yue_Hant"
    data = from_records([{**ROW, "source": code, "lp": f"en-{code}"} for code in ("no", "nb", "nn", "sv")])
    assert of_language_pairs(data, ["en-no"]).language_pairs == ["en-nb", "en-nn", "en-no"]
    assert of_language_pairs(data, ["en-nb"]).language_pairs == ["en-nb"]


@pytest.mark.parametrize("first", ["no", "ar", "he"])
def test_meteor_stems_all_codes_of_a_language_alike(first: str) -> None:
    codes = {"no": ["nb", "nn"], "ar": ["arz", "arb"], "he": ["iw"]}[first]
    texts = {"no": ["bøkene", "boken"], "ar": ["المكتبات", "مكتبة"], "he": ["ספרים", "ספר"]}[first]
    made = [from_texts([texts[0]], [[texts[1]]], lp=f"en-{code}") for code in (first, *codes)]
    assert len({Meteor().score(Meteor().statistics(data)).item() for data in made}) == 1
    assert len({Meteor().note(data) for data in made}) == 1


KEYS = [
    {"lp": "eng_zho"},
    {"langs": "en-zh"},
    {"language_pair": "en-cmn"},
    {"src_lang": "en", "tgt_lang": "zho"},
    {"source_lang": "English", "target_lang": "Chinese"},
    {"source_language": "eng", "target_language": "zh"},
    {"srclang": "en", "trglang": "zh"},
    {"lp": "en-zh", "src_lang": "en", "tgt_lang": "zho_Hans"},
    {"lp": "en-zh", "tgt_lang": "Simplified Chinese"},
]
ROW = {"source": "a", "reference": "b", "system": "A", "text": "c"}


@pytest.mark.parametrize("keys", KEYS, ids=str)
@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet", "frame", "records", "shards"])
def test_all_readers_know_the_names_of_languages(keys, form, tmp_path, caplog) -> None:
    row, path = {**ROW, **keys}, tmp_path / f"data.{form}"
    if form in ("csv", "parquet"):
        getattr(pd.DataFrame([row]), f"to_{form}")(path, index=False)
    elif form in ("json", "jsonl"):
        path.write_text(json.dumps([row] if form == "json" else row))
    elif form == "shards":
        pd.DataFrame([row]).to_parquet(tmp_path / "data.parquet", index=False)
        make_shards(str(tmp_path / "data.parquet"), path, 10)
    if form == "frame":
        dataset = from_frame(pd.DataFrame([row]))
    elif form == "records":
        dataset = from_records([{**keys, "source": "a", "references": ["b"], "candidates": {"A": "c"}}])
    else:
        dataset = Shards.open([str(path)]).load() if form == "shards" else read_dataset(path)
    assert dataset.language_pairs == ["en-zh"]
    assert not caplog.text


@pytest.mark.parametrize(("keys", "pair"), [({"tgt_lang": "ja"}, "?-ja"), ({"src_lang": "ja", "tgt_lang": ""}, "ja-?")])
def test_one_language_alone_is_half_a_pair(keys, pair) -> None:
    assert from_frame(pd.DataFrame([{**ROW, **keys}])).language_pairs == [pair]
    assert from_records([{**ROW, **keys}]).language_pairs == [pair]


@pytest.mark.parametrize("make", [from_records, lambda rows: from_frame(pd.DataFrame(rows))])
def test_unknown_languages_are_not_merged(make, caplog) -> None:
    names = ["Farsi", "Klingon", "Old Norse", "Mandarin", "Kurdish", "any"]
    rows = [{**ROW, "source": name, "src_lang": "English", "tgt_lang": name} for name in names]
    assert make(rows).language_pairs == ["en-?", "en-Klingon", "en-Old_Norse", "en-fa", "en-ku", "en-zh"]
    notes = [record.getMessage().partition(": lp ")[2] for record in caplog.records]
    assert notes == [
        "'en-Klingon' names an unknown language, 'Klingon': write its code, such as de or deu",
        "'en-Old_Norse' names an unknown language, 'Old_Norse': write its code, such as de or deu",
    ]


def test_data_that_names_no_language_pair_is_of_the_one_that_is_stated() -> None:
    unstated = from_records([ROW])
    stated = of_language_pairs(unstated, ["eng_zho"])
    assert stated.language_pairs == ["en-zh"]
    assert stated.fingerprint == from_records([{**ROW, "lp": "en-zh"}]).fingerprint
    assert from_records([ROW], lp="en-zh").fingerprint == stated.fingerprint
    assert from_frame(pd.DataFrame([ROW]), lp="en-zh").fingerprint == stated.fingerprint
    assert of_language_pairs(unstated, []) is unstated
    with pytest.raises(DataError, match="no sources of language pair 'de-en'; available: en-zh"):
        of_language_pairs(stated, ["de-en"])


def test_sources_without_a_pair_are_of_the_one_that_is_stated() -> None:
    frame = pd.DataFrame([{**ROW, "lp": "en-zh"}, {**ROW, "source": "b", "lp": None}])
    assert from_frame(frame, lp="eng-zho").sources["lp"].tolist() == ["en-zh", "en-zh"]
    # rows of one source are put together
    halves = [{**ROW, "lp": "en-zh", "system": "A"}, {**ROW, "lp": None, "system": "B"}]
    assert (
        len(from_frame(pd.DataFrame(halves), lp="en-zh").sources) == len(from_records(halves, lp="en-zh").sources) == 1
    )
    partly = from_records(frame.to_dict("records"))
    assert of_language_pairs(partly, ["en-zh"]).sources["lp"].tolist() == ["en-zh", "en-zh"]
    assert len(of_language_pairs(partly, ["*-zh"]).sources) == 1
    assert from_frame(frame.assign(lp=["en-zh_CN", None]), lp="en-zh").language_pairs == ["en-zh", "en-zh_CN"]
    with pytest.raises(DataError, match=r"frame, row 1: seg_id '7': source, references or doc differ from row 0"):
        from_frame(frame.assign(seg_id="7"), lp="en-zh")


LANGUAGES = [
    [{"lp": "eng-zho"}, {"lp": ""}],
    [{"lp": "en-zh"}, {"lp": "-"}],
    [{"LP": "en-zh"}, {"LP": None}],
    [{"src_lang": "en", "tgt_lang": "zh"}, {"src_lang": None, "tgt_lang": None}],
]


@pytest.mark.parametrize("languages", LANGUAGES)
@pytest.mark.parametrize("more", [{}, {"seg_id": 1}])
def test_rows_of_one_source_are_put_together_with_the_stated_pair(languages, more, tmp_path, caplog) -> None:
    systems = zip("AB", languages, strict=True)
    halves = [{**ROW, **more, "system": system, "text": system, **keys} for system, keys in systems]
    frame = pd.DataFrame(halves)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, halves)))
    made = [from_records(halves, lp="en-zh"), from_frame(frame, lp="en-zh")]
    made += [load_dataset(tmp_path / f"a.{ending}", lp="en-zh") for ending in ("csv", "jsonl", "parquet")]
    make_shards(str(tmp_path / "a.jsonl"), tmp_path / "shards", 9, lp=["en-zh"])
    for dataset in [*made, Shards.open([str(tmp_path / "shards")]).load()]:
        assert [dataset.language_pairs, len(dataset.sources), len(dataset)] == [["en-zh"], 1, 2]
    assert not caplog.messages


def test_comparisons_of_one_source_are_put_together_with_the_stated_pair() -> None:
    row = {"source": "a", "chosen": "b", "rejected": "c", "chosen_system": "A", "rejected_system": "B"}
    halves = [{**row, "lp": "en-zh"}, {**row, "lp": None}]
    for dataset in (from_records(halves, lp="en-zh"), from_frame(pd.DataFrame(halves), lp="en-zh")):
        assert [len(dataset.sources), len(dataset.preferences)] == [1, 2]


def test_a_stated_pair_tells_the_source_in_a_record_of_two_languages(tmp_path) -> None:
    texts = [{"de": "Hallo", "en": "hello"}, {"fr": "salut", "de": "Hallo"}]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"translation": each, "mt": "hi", "system": "A"}) for each in texts))
    sources = of_language_pairs(load_dataset(path, lp="en-de"), ["en-de"]).sources
    assert sources[["lp", "text"]].to_numpy().tolist() == [["en-de", "hello"]]


@pytest.mark.parametrize("lp", ["fr-en", "zh-en", "*-en", "news", "zh-CN"])
def test_a_stated_pair_that_is_not_that_of_the_data_is_refused(lp: str) -> None:
    rows = [{**ROW, "lp": "en-zh"}, {**ROW, "source": "b", "lp": "en-zh"}]
    what = f"has 2 sources of language pair en-zh, but lp states {lp}: leave out lp, or select sources first"
    for make, given in ((from_records, rows), (from_frame, pd.DataFrame(rows))):
        with pytest.raises(DataError) as refused:
            make(given, lp=lp)
        assert str(refused.value).partition(": ")[2] == what
        assert make(given, lp="*-zh").language_pairs == make(given, lp="en-zh_CN").language_pairs == ["en-zh"]


@pytest.mark.parametrize("wanted", [["*-en"], ["de-en", "fr-en"], ["news"]])
def test_only_one_pair_of_two_languages_can_be_stated(wanted) -> None:
    with pytest.raises(DataError) as refused:
        of_language_pairs(from_records([ROW]), wanted)
    what = "expected --lp with one language pair, such as de-en, found"
    assert str(refused.value) == f"records: has no language pair; {what} {' '.join(wanted)}"


def test_scores_and_preferences_may_spell_a_language_pair_otherwise(tmp_path) -> None:
    record = {"lp": "en-zh", "seg_id": "1", "source": "a", "references": ["b"], "candidates": {"A": "c", "B": "d"}}
    (tmp_path / "data.jsonl").write_text(json.dumps(record))
    header = "lp seg_id judge sysA sysB relation rankA rankB task primary".replace(" ", "\t")
    (tmp_path / "data.pairs.tsv").write_text(f"{header}\neng_zho\t1\t-\tA\tB\t>\t-\t-\t-\t1\n")
    dataset = read_dataset(tmp_path / "data.jsonl")
    assert len(dataset.preferences) == 1
    scores = tmp_path / "scores.csv"
    scores.write_text("lp,seg_id,system,score\nen_zh,1,A,0.5\nen_zh,1,B,0.25\n")
    assert SegmentScores.read(scores, "score").of_candidates(dataset).tolist() == [0.5, 0.25]


@pytest.mark.parametrize("name", ["zh-CN", "pt_BR"])
def test_one_language_with_its_region_is_no_pair(name) -> None:
    with pytest.raises(DataError, match=f"records: --lp {name} is one language with its region; expected two"):
        of_language_pairs(from_records([ROW]), [name])


def test_an_unknown_language_pair_says_so() -> None:
    known, unknown = LanguagePair("en-zh_Hans"), UNKNOWN_PAIR
    assert [known.known, known.of("wmt")] == ["en-zh_Hans", "wmt en-zh_Hans"]
    assert [str(unknown), unknown.known, unknown.of("wmt"), unknown.source, unknown.target] == [
        "?",
        None,
        "wmt",
        None,
        None,
    ]
    assert LanguagePair("?-en").known == "?-en"
    assert [LanguagePair("?-en").source, LanguagePair("?-en").target] == [None, "en"]
