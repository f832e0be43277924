"""The report: complete, self-contained, and unable to be anything but text where names are text."""

import html.parser
import json
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hardzero
from hardzero import (
    LassoLogisticRegression,
    PlainFrankWolfe,
    SparsePrivateLogisticRegression,
    SparsifierRegression,
)
from hardzero.checks import MissingPackageError
from hardzero.model import FittedModel
from hardzero.model.presentation import outputs_of
from hardzero.privacy.events import PerturbedMinimum, Selection
from hardzero.report import chart, page, render_report, rerun, wording, write_report
from hardzero.report.notebook import fragment
from hardzero.schema.encoder import SchemaEncoder

from ..models import STEPS, made_up, made_up_with_schema, models, sure, table

VOID = {"meta", "link", "wbr", "br"}
HEADINGS = [
    "Privacy parameters",
    "Unit of privacy",
    "Mechanisms and composition",
    "Assumed public",
    "Randomness",
    "Trust model",
    "Side channels not covered",
    "Data handling outside the guarantee",
]


class Page(html.parser.HTMLParser):
    """Tags, attributes and texts; complains about elements that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def inside(self, tag):
        return [text.strip() for path, text in self.texts if tag in path and text.strip()]

    @property
    def text(self):
        return " ".join(" ".join(text for path, text in self.texts if not {"script", "style"} & set(path)).split())


def embedded(text):
    return re.search(r'<script type="application/json" id="hardzero-model">(.*?)</script>', text, re.DOTALL)[1]


def test_a_page_says_everything_that_was_promised():
    model = made_up_with_schema()
    shown = Page(render_report(model))
    assert shown.inside("h1") == ["Model of outcome"]
    assert "predicts whether outcome is good using 4 of 5 variables" in shown.text
    assert [text for text in shown.inside("h3") if text in HEADINGS] == HEADINGS
    assert "age" in shown.inside("tbody")
    assert "per unit ( years )" in shown.text
    assert shown.text.count("the schema: columns") == 1
    assert "selected features are noisy, not causal" in shown.text.lower()
    assert "exchanged for any other" in shown.text
    assert "gain" in shown.inside("ul")  # dropped
    assert "73.1 % sure" in shown.text
    assert "1 in 1,000,000" in shown.text
    assert ("lang", "en") in shown.attributes
    assert "NOT PRIVATE" not in shown.text


def test_a_schema_is_listed_once_among_what_is_assumed_public():
    model = made_up_with_schema()
    stated = replace(model.privacy, assumed_public=("the bounds", "the schema: columns, bounds, cut points"))
    listed = Page(render_report(replace(model, privacy=stated))).inside("li")
    assert [line for line in listed if line.startswith("the schema")] == ["the schema: columns, bounds, cut points"]
    assert "the schema" not in Page(render_report(made_up())).text


def test_nothing_is_loaded_from_anywhere():
    text = render_report(made_up_with_schema())
    assert not re.search(r"https?:|url\(|@import|<img|<iframe|<object|<link(?! rel=\"icon\" href=\"data:,\")", text)
    assert not re.search(r"<script(?! type=\"application/json\")|\son\w+=|javascript:", text)


def test_the_embedded_model_is_the_model():
    model = made_up(names=("</script><b>&amp;", "x"))
    assert FittedModel.from_json(embedded(render_report(model))) == model


@given(
    models(
        names=st.sampled_from(
            ["<script>alert(1)</script>", '"><b>', "'onload=x", "&lt;", "]]>", "\x00\x1b", "\u202e"]
        )
    )
)
@settings(max_examples=15)
def test_hostile_names_stay_text(model):
    text = render_report(model, title='</title><img src="x">')
    shown = Page(text)
    assert "b" not in shown.tags
    assert "img" not in shown.tags
    assert shown.tags.count("script") == 1
    assert not [name for name, _ in shown.attributes if name.startswith("on")]
    assert not re.search(r"[\x00\x1b]", text)
    assert FittedModel.from_json(embedded(text)) == model
    Page(fragment(model))


@given(models())
@settings(max_examples=25)
def test_any_model_has_a_report(model):
    text = render_report(model)
    assert FittedModel.from_json(embedded(text)) == model
    assert Page(text).text


def test_a_seeded_model_is_stamped():
    shown = Page(render_report(made_up(seeded=True)))
    assert "NOT PRIVATE" in shown.inside("strong")
    assert "is not private" in shown.text
    assert "Differentially private" not in shown.text


def test_a_model_without_privacy_is_stamped(binary_task):
    X, y = binary_task
    model = FittedModel.from_estimator(LassoLogisticRegression(bounds=(-1, 1), solver=PlainFrankWolfe(9)).fit(X, y))
    shown = Page(render_report(model))
    assert "NOT PRIVATE" in shown.inside("strong")
    assert "fitted without differential privacy" in shown.text
    assert "unlimited" in shown.text


def test_each_class_has_a_chart_and_a_table():
    shown = Page(render_report(made_up(coef=((1.0, 0.0), (0.0, -2.0), (0.0, 0.0)), classes=("a", "b", "c"))))
    assert shown.tags.count("table") == 2 + 1  # two classes with weights, and the releases
    assert "No feature was kept for this class" in shown.text
    assert [text for text in shown.inside("h3") if text in ("a", "b", "c")] == ["a", "b", "c"]


def test_a_regression_has_no_odds(binary_task):
    X, _ = binary_task
    estimator = SparsifierRegression(epsilon=5.0, bounds=(-1, 1), target_bounds=(-4, 4)).fit(X, X[:, 0])
    shown = Page(render_report(FittedModel.from_estimator(estimator)))
    assert "Change over the bounds" in shown.text
    assert "dds ratio" not in shown.text


def test_long_lists_are_folded_and_short_ones_are_not():
    few = Page(render_report(made_up(names=tuple("abc"), coef=((1.0, 0.0, 0.0),))))
    many = Page(render_report(made_up(names=tuple(f"f{i}" for i in range(50)), coef=((1.0,) * 30 + (0.0,) * 20,))))
    assert "details" not in few.tags
    assert "details" in many.tags
    assert "The 25 largest effects of 30" in many.text
    huge = Page(render_report(made_up(names=tuple(f"f{i}" for i in range(2100)), coef=((1.0,) + (0.0,) * 2099,))))
    assert "Show the first 2,000" in huge.text


def test_shares_of_the_budget_add_up():
    events = (Selection(0.1), Selection(0.2), PerturbedMinimum("minimum", 4.0, 0.1))
    shown = Page(render_report(made_up(epsilon=3.0, events=events)))
    shares = [float(text.split()[0]) for text in shown.inside("td") if text.endswith("%")]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert "Constant term" in shown.text


def test_bars_reach_as_far_as_their_effects():
    (output,) = outputs_of(made_up(names=tuple("abc"), coef=((0.5, -1.0, 8.0),)))
    drawn = chart.draw(output.effects, as_odds=True)
    assert [bar.name for bar in drawn.bars] == ["c", "b", "a"]
    assert [bar.leaves for bar in drawn.bars] == [True, False, False]
    assert drawn.bars[1].width == pytest.approx(2 * drawn.bars[2].width)
    assert drawn.bars[1].start + drawn.bars[1].width == pytest.approx(50)
    plain = chart.draw(output.effects, as_odds=False)
    assert plain.ticks[-1].label == "+20"
    assert not plain.clipped


KNOWN = made_up(
    names=("age", "country=<x>", "sex=f", "gain", "zip"),
    coef=((1.0, -8.0, -2.0, 0.0, 0.5),),
    inference=sure([[0.1, 4.0, 0.25, None, 1.0]], [[0.001, 0.3, 0.05, 0.01, 0.051]]),
)
"""Reliable are the first and the third; the largest weight is not."""


def test_reliable_features_come_first_and_noise_is_folded():
    shown = Page(render_report(KNOWN))
    rows = [text for path, text in shown.texts if path[-3:] == ("tr", "th", "bdi")]
    assert rows == ["sex=f", "age", "country=<x>", "zip"]
    assert [text for path, text in shown.texts if "details" in path and path[-2:] == ("th", "bdi")] == rows[2:]
    assert shown.inside("summary") == ["2 kept features cannot be told from noise"]
    assert "using 4 of 5 features, 2 of them reliable" in shown.text
    assert "The largest is sex=f" in shown.text


def test_numbers_have_their_intervals_and_the_page_says_what_they_cover():
    shown = Page(render_report(KNOWN))
    cells = shown.inside("td")
    assert cells[:2] == ["−1", "−1.24 to −0.755"]
    assert cells[4:8] == ["0.368", "0.288 to 0.47", "0.0183", "0.00687 to 0.0488"]
    assert "cover the weights given the kept features; selection is not accounted for" in shown.text
    assert "a false-discovery rate of at most 5 % over all 5 candidates" in shown.text
    assert "No weight has an error bar" not in shown.text
    assert "No weight has an error bar" in Page(render_report(made_up())).text


def test_a_model_that_cannot_tell_speaks_of_no_intervals():
    shown = Page(render_report(made_up()))
    for word in ("interval", "reliable", "cannot be told from noise"):
        assert word not in shown.text.lower()
    assert not [value for _, value in shown.attributes if "whisker" in (value or "")]
    assert [value for _, value in Page(render_report(KNOWN)).attributes if "whisker" in (value or "")]


def test_a_page_can_have_nothing_reliable():
    model = made_up(coef=((1.0, -2.0),), inference=sure([[1.0, 2.0]], [[0.5, 0.6]]))
    shown = Page(render_report(model))
    assert "No feature is reliable. The intercept is" in shown.text
    assert "figure" not in shown.tags[: shown.tags.index("details")]
    assert "no feature is reliable" in fragment(model)


def test_each_class_folds_its_own_noise():
    known = sure([[0.1, None], [None, 0.1], [0.1, 0.1]], [[0.9, 1.0], [1.0, 0.01], [0.9, 0.02]])
    model = made_up(coef=((1.0, 0.0), (0.0, 2.0), (3.0, 0.5)), classes=("a", "b", "c"), inference=known)
    assert Page(render_report(model)).inside("summary") == [
        "1 kept feature of class a cannot be told from noise",
        "1 kept feature of class c cannot be told from noise",
    ]


def test_whiskers_have_caps_only_on_the_axis():
    known = sure([[0.25, 3.0, None]], [[0.0, 0.0, 1.0]])
    (output,) = outputs_of(made_up(names=tuple("abc"), coef=((1.0, 4.0, 0.0),), inference=known))
    beyond, within = chart.draw(output.leading, as_odds=True).bars
    assert [beyond.name, within.name] == ["b", "a"]
    assert beyond.leaves
    assert (beyond.whisker.end, len(beyond.whisker.caps)) == (100, 1)
    assert not within.leaves
    assert within.whisker.caps == (within.whisker.start, within.whisker.end)
    middle = (within.whisker.start + within.whisker.end) / 2
    assert middle == pytest.approx(within.start + within.width)


def test_the_axis_holds_whiskers_too():
    known = sure([[0.5]], [[0.01]])
    (output,) = outputs_of(made_up(names=("a",), coef=((1.0,),), inference=known))
    drawn = chart.draw(output.leading, as_odds=False)
    assert drawn.ticks[-1].label == "+5"  # 2 ± 1.96
    assert not drawn.clipped


def test_notebooks_fold_noise_too():
    shown = Page(fragment(KNOWN))
    assert [text for path, text in shown.texts if path[-1:] == ("bdi",)] == ["sex=f", "age", "country=<x>", "zip"]
    assert shown.inside("summary") == ["2 kept features cannot be told from noise"]
    assert shown.inside("small")[:3] == ["−1.24 to −0.755", "0.288 to 0.47", "0.00687 to 0.0488"]
    assert "4 of 5 features kept, 2 of them reliable" in shown.text
    assert "selection is not accounted for" in shown.text
    assert "small" not in Page(fragment(made_up())).tags


def test_an_interval_beyond_what_figures_tell_is_written_once():
    assert wording.ends((20.0, 30.0), as_odds=True) == ">10,000"
    assert wording.ends((-1.0, 30.0), as_odds=True) == "0.368 to >10,000"
    assert wording.ends((-1.0, 30.0), as_odds=False) == "−1 to +30"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-1.5, "−1.5"),
        (12345.6, "12,350"),
        (0.000157, "0.000157"),
        (9.9999e-8, "1\u202f×\u202f10⁻⁷"),
        (5e-324, "4.941\u202f×\u202f10⁻³²⁴"),
    ],
)
def test_numbers_are_short(value, text):
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("log_odds", "text"),
    [(0.0, "1"), (np.log(2), "2"), (1.57e-4, "1.00016"), (-0.003, "0.9970"), (1e-12, "1.000000"), (50, ">10,000")],
)
def test_odds_ratios_can_be_told_from_one(log_odds, text):
    assert wording.ratio(log_odds) == text


def run(code, **names):
    exec(compile(code, "report", "exec"), names)
    return names["model"]


def test_the_code_to_run_again_runs(tmp_path, monkeypatch, binary_task):
    monkeypatch.chdir(tmp_path)
    made_up_with_schema().save("model.json")
    again = run(rerun.snippet(made_up_with_schema()), table=table(300))
    assert again.coef_.shape == (1, 7)
    X, y = binary_task
    saved = FittedModel.from_estimator(LassoLogisticRegression(bounds=(-1, 1), solver=PlainFrankWolfe(9)).fit(X, y))
    saved.save("model.json", overwrite=True)
    again = run(rerun.snippet(saved), X=X, y=y)
    assert isinstance(again.solver, PlainFrankWolfe)
    np.testing.assert_allclose(again.coef_, saved.coef_original)


@pytest.mark.parametrize("schema", [STEPS, None])
def test_what_was_taken_together_is_so_again(schema, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, labels = table(3000), STEPS.variables
    encoder = SchemaEncoder(STEPS)
    encoded = encoder.encode(rows)
    estimator = SparsePrivateLogisticRegression(
        5.0,
        bounds=encoder.bounds,
        classes=STEPS.target.classes,
        variables=encoder.variables if schema else labels,
        max_variables=2,
    ).fit(encoded.X, encoded.y)
    saved = FittedModel.from_estimator(estimator, schema)
    saved.save("model.json")
    again = run(rerun.snippet(saved), table=rows, X=encoded.X, y=encoded.y)
    assert again.max_variables == 2
    assert again._variables(len(labels)) == estimator._variables(len(labels))
    alone = SparsePrivateLogisticRegression(5.0, bounds=encoder.bounds, classes=STEPS.target.classes)
    assert "variables=enc" not in rerun.snippet(FittedModel.from_estimator(alone.fit(encoded.X, encoded.y), schema))


def test_a_report_is_replaced_only_when_allowed(tmp_path):
    write_report(made_up(), tmp_path / "report.html", title="Ours")
    assert "<bdi>Ours</bdi>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(FileExistsError):
        write_report(made_up(), tmp_path / "report.html")
    write_report(made_up(), tmp_path / "report.html", overwrite=True)


def test_without_jinja_the_message_says_how_to_get_it(monkeypatch):
    page._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPackageError, match=r"hardzero\[report\]"):
        render_report(made_up())


def test_notebooks_show_the_weights_and_the_guarantee(binary_task):
    X, y = binary_task
    estimator = SparsePrivateLogisticRegression(epsilon=5.0, bounds=(-1, 1), classes=[0, 1]).fit(X, y)
    shown = Page(estimator._repr_html_())
    assert "differential privacy, zero-out neighbours" in shown.text
    assert "x0" in shown.inside("tbody")
    assert estimator._repr_mimebundle_()["text/html"] == estimator._repr_html_()
    assert "and 5 smaller effects" in fragment(made_up(names=[f"f{i}" for i in range(20)], coef=((1.0,) * 20,)))
    seeded = SparsePrivateLogisticRegression(bounds=(-1, 1), random_state=0, classes="from-y").fit(X, y)
    assert "NOT PRIVATE" in seeded._repr_html_()


def test_notebooks_show_unfitted_estimators_as_scikit_learn_does():
    import sklearn

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn's parser does not know the section "Privacy"
        estimator = SparsePrivateLogisticRegression()
        assert "sk-" in estimator._repr_html_()
        assert "sk-" in estimator._repr_mimebundle_()["text/html"]
        with sklearn.config_context(display="text"):
            assert "text/html" not in estimator._repr_mimebundle_()
            assert not hasattr(estimator, "_repr_html_")


def test_the_version_is_shown():
    assert f"hardzero {hardzero.__version__}" in Page(render_report(made_up())).text
    assert json.loads(embedded(render_report(made_up())))["version"] == 6


@pytest.mark.parametrize("name", ["model-file.md", "report.md"])
def test_what_the_pages_of_the_documentation_show_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / name).read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, name, "exec"), names)
    assert len(list(tmp_path.iterdir())) >= 1


def test_models_are_read_and_shown_without_scikit_learn_and_what_is_optional():
    code = """
import subprocess
import sys
import hardzero.model.file, hardzero.model.onnx, hardzero.report, hardzero.report.notebook
print(*sorted({"sklearn", "jinja2", "onnx", "pyarrow"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
