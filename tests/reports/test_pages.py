from __future__ import annotations

import base64
import builtins
import dataclasses
import gzip
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError, MissingError
from ranker.evaluation.metrics.evaluation import evaluate
from ranker.evaluation.metrics.result import Comparison
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.reports.comparison_page import comparison_report
from ranker.reports.drawing import shortened
from ranker.reports.findings import examine
from ranker.reports.pages import write_plots
from ranker.reports.plots import Series, rows_plot
from ranker.reports.ranker_page import ranker_report
from ranker.reports.sources import source_keys
from tests.effort import further, thorough
from tests.reports.conftest import FINDINGS, page_of

VOID = {"meta", "link", "br", "wbr", "hr", "img", "input"}


class Page(HTMLParser):
    """Elements of a page with the elements that they stand in; refuses what is not well formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str]]] = []
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.text = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), [name for name, _ in self.open]))
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), [name for name, _ in self.open]))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if not {"style", "svg", "script"} & {name for name, _ in self.open}:
            self.text += data

    def all(self, *tags: str) -> list[tuple[str, dict[str, str], list[str]]]:
        return [element for element in self.elements if element[0] in tags]


@pytest.fixture(scope="module", params=[further(name) if name != "contrasted" else name for name in FINDINGS])
def written(request, pages):
    return pages(request.param)


def test_everything_is_in_the_page_and_nothing_is_fetched(written):
    text, plots = written
    page = Page(text)
    assert not page.all("img", "iframe", "object", "embed")
    # one script, and data that no browser runs
    kinds = [attributes for _, attributes, _ in page.all("script")]
    assert [kind for kind in kinds if "type" not in kind] == [{}]
    assert {kind["type"] for kind in kinds if kind} <= {"application/gzip+base64"}
    for tag, attributes, _ in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            if name in ("href", "src", "xlink:href"):
                assert value.startswith("#") or value == "data:,", (tag, value)
    assert "http" not in re.sub(r"<!DOCTYPE.*?>|http-equiv", "", text).replace("https?", "")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert len(page.all("svg")) == len(plots)


def test_texts_from_outside_are_inert(written):
    text, _ = written
    page = Page(text)
    assert "<script>document" not in text
    assert "\x1b" not in text
    assert not page.all("b") or all(attributes == {} for _, attributes, _ in page.all("b"))
    assert '<script>document.title = "run"</script> & "quoted" <b>bold</b>' in page.text
    # the policy would stop a script even if it got through
    policy = next(item for _, item, _ in page.all("meta") if item.get("http-equiv") == "Content-Security-Policy")
    allowed = dict(part.strip().split(" ", 1) for part in policy["content"].split(";"))
    assert allowed["default-src"] == allowed["base-uri"] == allowed["form-action"] == "'none'"
    for element, rule in (("script", "script-src"), ("style", "style-src")):
        (result,) = re.findall(f"<{element}>(.*?)</{element}>", text, flags=re.DOTALL)
        assert allowed[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(result.encode()).digest()).decode()}'"


def test_page_can_be_used_without_eyes_or_mouse(written):
    page = Page(written[0])
    ids = [element["id"] for _, element, _ in page.elements if "id" in element]
    assert len(ids) == len(set(ids))
    for tag, attributes, inside in page.elements:
        for reference in (attributes.get("aria-labelledby"), attributes.get("href", "").removeprefix("#")):
            if reference and reference != "data:,":
                if reference.startswith("s="):
                    continue
                assert reference in ids, (tag, reference)
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
        if tag == "svg":
            assert attributes["role"] == "img"
            assert len(attributes["aria-label"]) > 30
        if tag == "table":
            assert "div" in inside
        if attributes.get("class") == "scroll":
            assert (attributes["tabindex"], attributes["role"]) == ("0", "region")
            assert attributes["aria-label"]
    assert len(page.all("details")) == len(page.all("summary"))
    levels = [int(tag[1]) for tag, *_ in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.elements[0][1]["lang"] == "en"


@thorough
def test_same_findings_same_bytes(model, sample, compared, compared_systems, pages):
    first, second = pages("findings"), page_of(examine(model, [sample], examples=3, resamples=50))
    assert first[0] == second[0]
    assert page_of(compared_systems)[0] == pages("compared_systems")[0]
    assert pages("compared")[0] == comparison_report(Comparison.from_json(compared.to_json()))[0]
    # the pages hold the plots; of the other form one is enough
    assert first[1]["weights"].png() == second[1]["weights"].png()
    assert not re.search(rb"dc:date|20\d\d-\d\d-\d\d", first[1]["weights"].svg())


def test_report_says_the_figures(findings, pages):
    text = Page(pages("findings")[0]).text
    agreement = findings.measured[0].agreement
    _, scope = agreement.headline
    assert f"{agreement.evaluation.estimate('segment.spearman', scope.id).value:.3f}" in text
    assert "the ranker was trained on " in text
    assert findings.signature in text
    for value in findings.ranker.weights:
        assert f"{value:+.4f}" in text
    for example in findings.examples["worst"]:
        assert example.source.text in text
        for candidate in example.candidates:
            assert "".join(piece.text for piece in candidate.runs) in text


def test_comparison_says_the_figures(compared):
    text, plots = comparison_report(compared)
    page = Page(text)
    assert list(plots) == ["standings-1", "wins-1", "scopes"]
    assert "0.400 [0.300, 0.500]" in page.text
    assert "0.0123" in page.text
    assert "(1)" in page.text
    assert "middle beats 0; undefined beats 0" in text


@thorough
def test_comparison_says_how_it_was_corrected_and_when_nothing_can_be_significant(compared):
    def text(**changes) -> str:
        settings = dataclasses.replace(compared.settings, **changes)
        return re.sub(r"\s+", " ", Page(comparison_report(dataclasses.replace(compared, settings=settings))[0]).text)

    assert "(bootstrap test, Holm correction, p < 0.05)" in text()
    assert "(bootstrap test, Westfall-Young correction, p < 0.05)" in text(correction="westfall-young")
    assert "(bootstrap test, no correction, p < 0.05)" in text(correction="none")
    assert "can be significant" not in text()
    assert "no difference can be significant: with 10 resamples" in text(resamples=10)


def test_plots_are_files_too(written, tmp_path):
    # all are drawn in the page
    few = dict(itertools.islice(written[1].items(), 2))
    paths = write_plots(few, tmp_path / "new")
    assert [path.name for path in paths] == [f"{name}.{form}" for name in few for form in ("svg", "png")]
    for path in paths:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(DataError, match="cannot be created"):
        write_plots(written[1], tmp_path / "not" / "there")


def test_labels_of_any_script_and_with_dollars_are_drawn_as_they_are():
    names = ["系统 $x^2$ <b>", "نظام", "_" * 80]
    estimates = tuple(Estimate(value, value, value) for value in (0.1, float("nan"), -0.2))
    plot = rows_plot("p", "Title", "Description", names, [Series("s", estimates)], axis="value")
    texts = [item.text for item in ElementTree.fromstring(plot.svg()).iter("{http://www.w3.org/2000/svg}text")]
    assert names[0] in texts
    assert names[1] in texts
    assert "_" * 55 + "…" in texts
    assert shortened("x" * 56) == "x" * 56
    assert plot.png()
    assert "var(--series-1)" in plot.inline()
    assert "#1f5fa8" not in plot.inline()


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_what_is_not_installed_is_named(package, findings, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingError, match=rf"reports require {package}: pip install 'mt-ranker\[report\]'"):
        ranker_report(findings)


def unpacked(text):
    (raw,) = re.findall(r'<script type="application/gzip\+base64" id="packed">(.*?)</script>', text)
    return json.loads(gzip.decompress(base64.b64decode(raw)))


def test_the_page_holds_all_sources(findings, sample, pages):
    data = unpacked(pages("findings")[0])
    assert data["parts"] == list(findings.extractors)
    assert [row[3] for row in data["sources"]] == sample.sources["text"].tolist()
    for row, source in zip(data["sources"], findings.sources, strict=True):
        assert row[0] == source.key == f"zh-en/{source.segment}"
        assert row[4] == list(source.references)
        assert [entry[:2] for entry in row[6]] == [[list(output.systems), output.text] for output in source.outputs]
        for item, output in zip(row[6], source.outputs, strict=True):
            assert item[3] == pytest.approx(output.score, abs=6e-4)
            assert item[5] == pytest.approx(list(output.human), abs=6e-4)
            assert item[6] == pytest.approx(list(output.parts), abs=6e-4)


def test_keys_of_sources_are_unique(preferred, sample):
    first, second, third = source_keys([preferred, select_language_pairs(preferred, ["de-en"]), sample])
    assert third[0].startswith("zh-en/")
    assert len({*first, *second, *third}) == len(first) + len(second) + len(third)
    assert any(key.endswith("~2") for key in second)


def test_outputs_that_nobody_judged_have_a_report(model, preferred):
    bare = dataclasses.replace(preferred, preferences=preferred.preferences[:0], name="bare")
    findings = examine(model, [bare], examples=2, resamples=20)
    assert not findings.judged
    assert set(findings.examples) == {"apart", "random"}
    apart = [
        example.source.outputs[0].score - example.source.outputs[-1].score for example in findings.examples["apart"]
    ]
    assert apart == pytest.approx(sorted(findings.measured[0].spread, reverse=True)[:2])
    text, plots = ranker_report(findings)
    page = Page(text)
    assert set(plots) == {"weights", "shares"}
    assert "bare: has no human judgements, so this report does not measure agreement" in page.text
    assert "people:" not in page.text
    assert all(row[5] is None and not item[4] for row in unpacked(text)["sources"] for item in row[6])
    # with judged data beside it, only that is compared
    joined = examine(model, [bare, preferred], examples=1, resamples=20)
    assert [dataset.name for dataset, _ in joined.judged] == [preferred.name]
    assert set(joined.examples) == {"worst", "best", "random"}
    assert ranker_report(joined)[0]
    with pytest.raises(DataError, match="no judgements of kind 'fluency'"):
        examine(model, [bare], kind="fluency")


@thorough
def test_control_characters_are_pictures_and_long_texts_behind_a_fold(model):
    names = ["nul\0", "bell\a", "rtl\u202e", "nonchar\ufffe", "c1\x85"]
    candidates = [Candidate(str(place), f"{name} text") for place, name in enumerate(names[1:], 1)]
    candidates.insert(0, Candidate("0", "long\a " * 20_000))
    data = assemble([Record("source\x1b[31m", ["a\x0breference"], candidates)] * 2, "data\0")
    # readers refuse some of these names, and NUL
    table = data.candidates.assign(
        system=[names[int(system)] for system in data.candidates["system"]],
        text=[text.replace("\a", "\0") for text in data.candidates["text"]],
    )
    data = dataclasses.replace(data, candidates=table)
    text, plots = ranker_report(examine(model, [data], examples=2, resamples=0))
    assert not re.search(r"[\0-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]", text)
    page = Page(text)
    assert "nul␀" in page.text
    assert "source␛[31m" in page.text
    assert "All 120,000 characters" in page.text
    # the direction of a text does not go on behind it
    in_markup = re.sub(r"<svg.*?</svg>|<script.*?</script>|\S+=\"[^\"]*\"", "", text, flags=re.DOTALL)
    assert "rtl\u202e" in in_markup
    # marks stand inside of what isolates their text
    in_markup = re.sub(r"</?mark\b[^>]*>", "", in_markup)
    assert set(re.findall(r"(.{5})rtl\u202e", in_markup)) == {"<bdi>"}
    for plot in plots.values():
        ElementTree.fromstring(plot.svg())
    assert any("long␀" in item[1] for row in unpacked(text)["sources"] for item in row[6])


def test_no_page_claims_intervals_and_clusters_that_were_not_computed(model, sample):
    data = [sample, dataclasses.replace(sample, name="again")]
    bare = evaluate(sample, ["bleu", "chrf"], resamples=0)
    for text, _ in (comparison_report(bare), ranker_report(examine(model, data, examples=0, resamples=0))):
        shown = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert re.findall(r"[^.<>]*(?:\b0 resamples|intervals|clusters?\b)[^.<>]*", shown) == []


def test_faults_that_the_report_does_not_set_apart_are_noted(model, preferred):
    texts = preferred.candidates["text"].where(preferred.candidates.index > 0, "the bus " * 20)
    faulty = dataclasses.replace(preferred, candidates=preferred.candidates.assign(text=texts))
    first, second = (" ".join(examine(model, [data], resamples=0).measured[0].notes) for data in (preferred, faulty))
    assert "this report ranks by score alone" not in first
    assert re.search(r"ranked behind the other candidates \(repetition 1\) by ranker rank, .* by score alone", second)
