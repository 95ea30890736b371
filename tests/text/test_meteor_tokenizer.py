from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.text.meteor_tokenizer import tokenize_meteor, tokenize_meteor_words

odd = st.text(alphabet="aAbB1'`\".,-–“”’_&%°é中かß \u00a0\u3000\u200b\n\t", max_size=25)
pieces = st.lists(
    st.sampled_from(["Mr.", "mr.", "No.", "U.S.", "end.", 'x."', "lower", "Upper", "7", "...", "."]), max_size=6
)


@pytest.mark.parametrize(
    ("golden", "run", "tokenize"),
    [
        ("included", "default_norm", tokenize_meteor),
        ("shared", "default_norm", tokenize_meteor),
        ("shared", "default_norm_nopunct", tokenize_meteor_words),
    ],
    indirect=["golden"],
)
def test_equals_meteor_1_5(golden, run, tokenize):
    lines = (golden / "inputs.jsonl").read_text(encoding="utf-8").splitlines()
    inputs = {item["id"]: item for item in map(json.loads, lines)}
    head, *rows = [
        line.split("\t") for line in (golden / f"meteor.{run}.tsv").read_text(encoding="utf-8").split("\n") if line
    ]
    for column, texts in (("hyp_words", lambda item: [item["hyp"]]), ("ref_words", lambda item: item["refs"])):
        expected = [row[head.index(column)].split(" ") for row in rows]
        sentences = [texts(inputs[row[0]]) for row in rows]
        tokens = iter(tokenize([text for group in sentences for text in group]))
        for row, group, words in zip(rows, sentences, expected, strict=True):
            # of several references the program shows the one with the best score
            result = [next(tokens) for _ in group]
            assert [word for word in words if word] in result, row[0]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Mr. Smith met Dr. No.", "mr. smith met dr. no ."),
        ("He left. She stayed.", "he left . she stayed ."),
        ("the city hall. counter summit", "the city hall. counter summit"),
        ("No. 5 and No. Five", "no. 5 and no . five"),
        ("the U.S. and Africa.They", "the us and africa.they"),
        ("it costs £2.2bn.", "it costs £ 22bn"),
        ("well-known, -like 3-4 and --", "well known , -like 3 4 and -"),
        ("don't the dogs' 1990's o'clock 'quote'", "don 't the dogs ' 1990 's o 'clock ' quote '"),
        ("“quoted” – ‘so’ ``x''…", '" quoted " - \' so \' " x " ...'),
        ("1,234.56, a,b ...", "1,234.56 , a , b ..."),
        ("我喜欢cats", "我 喜 欢 cats"),
        ("snake_case 50% a&amp;b", "snake _ case 50 % a & amp ; b"),
        ("", ""),
    ],
)
def test_examples(text, tokens):
    assert tokenize_meteor([text]) == [tokens.split()]


def test_words_only():
    assert tokenize_meteor_words(["Don't pay $3.50, Mr. X! 我", "..."]) == [
        ["don", "t", "pay", "3", "50", "mr", "x"],
        [],
    ]
    assert tokenize_meteor_words([]) == []


@settings(deadline=None)
@given(st.lists(odd | pieces.map(" ".join), max_size=5))
def test_a_sentence_has_the_same_tokens_in_every_batch(sentences):
    for tokenize in (tokenize_meteor, tokenize_meteor_words):
        together = tokenize(sentences)
        assert together == [tokenize([sentence])[0] for sentence in sentences]
        assert all(token and token == token.lower() and not token.isspace() for line in together for token in line)
