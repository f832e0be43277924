"""The report in a real browser."""

import itertools
import math

import pytest

from hardzero.model.curves import curves_of, has_variables
from hardzero.model.presentation import outputs_of
from hardzero.report import write_report
from hardzero.schema.columns import Categorical, Numeric, Schema

from ..browser import CONTRAST, needs_browser, running_browser
from ..models import STEPS, made_up, made_up_with_schema, sure, told_by_column

pytestmark = needs_browser

HOSTILE = ("<script>window.harmed = 1</script>", '"><img src=x onerror="window.harmed = 1">')
CURVES = (-0.5, 1.0, 2.0, 0.3, -1.0, 0.0, 0.2, 0.0, 0.7)
MANY = Schema(
    (
        Categorical("a town with a name", tuple(f"quarter {i} of the town" for i in range(20))),
        *(Numeric(f"n{i}", 0, 10**i) for i in range(15)),
    ),
    STEPS.target,
)
PAGES = {
    "table": made_up_with_schema(),
    "curves": made_up_with_schema(
        CURVES,
        STEPS,
        told_by_column(
            STEPS, CURVES, {"age": 0.001, "smoker": 0.02, "activity": 0.01, "gain": 0.9, "admission": 0.6}
        ),
    ),
    "many": made_up_with_schema(tuple(0.1 * (-1) ** j * j for j in range(36)), MANY),
    "seeded": made_up(coef=((1.0, 0.5), (0.0, -2.0), (0.3, 0.0)), classes=("a", "b", "c"), seeded=True),
    "weak": made_up(epsilon=100.0, delta=0.1, n_rows=20_000),
    "sure": made_up(
        names=("age", "country=x", "sex=f", "gain", "zip"),
        coef=((1.0, -8.0, -2.0, 0.0, 0.5),),
        inference=sure([[0.1, 4.0, 0.25, None, 1.0]], [[0.001, 0.3, 0.05, 0.01, 0.051]]),
    ),
    "hostile": made_up(names=HOSTILE),
    "hostile table": made_up_with_schema(
        (1.0, 0.0, 0.0, -1.0),
        Schema((Categorical(HOSTILE[0], HOSTILE), Numeric(HOSTILE[1], 0, 1, HOSTILE[0])), STEPS.target),
    ),
    "long": made_up(["a very long name " * 8, *(f"feature_{i}" for i in range(60))], ((1.0,) * 30 + (0.0,) * 31,)),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with running_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module", params=PAGES)
def opened(request, browser, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(PAGES[request.param], file)
    browser.open(file.as_uri())
    return browser, PAGES[request.param]


@pytest.fixture
def unfolded(opened):
    """The page with all that is folded away to be seen; tests may come in any order."""
    opened[0].run(OPEN)
    yield opened
    opened[0].run(CLOSE)


def test_the_console_stays_empty_and_nothing_is_loaded(opened):
    browser, _ = opened
    assert browser.console() == []
    assert browser.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert browser.run("return window.harmed === undefined")


WEIGHTS = "section[aria-labelledby=features]"
BARS = f"return [...document.querySelectorAll('{WEIGHTS} rect')].map(r => r.getBBox().width)"
OPEN = "document.querySelectorAll('details').forEach(d => { d.open = true; })"
CLOSE = OPEN.replace("true", "false")


def test_chart_and_table_show_every_kept_feature(unfolded):
    browser, model = unfolded
    outputs = outputs_of(model)
    bars = browser.run(BARS)
    assert len(bars) == sum(min(len(output.leading), 25) for output in outputs)
    assert min(bars) > 0
    names = browser.run(f"return [...document.querySelectorAll('{WEIGHTS} tbody th bdi')].map(e => e.textContent)")
    assert len(names) == sum(len(output.effects) for output in outputs)
    assert set(names) <= {feature.name for feature in model.features}


def test_whiskers_lie_where_intervals_do(unfolded):
    """Their lines are as long as their intervals, on one scale with the bars."""
    browser, model = unfolded
    whiskers = f"[...document.querySelectorAll('{WEIGHTS} .whisker.over')]"
    drawn = browser.run(f"return {whiskers}.map(g => g.firstElementChild.getBBox().width)")
    known = [effect for output in outputs_of(model) for effect in output.leading if effect.certainty is not None]
    assert len(drawn) == len(known)
    for width, bar, effect in zip(drawn, browser.run(BARS), known, strict=False):
        low, high = effect.change_interval
        assert width / bar == pytest.approx((high - low) / abs(effect.change), rel=0.01)


PICTURES = "return [...document.querySelectorAll('figure.variable')]"


def test_every_variable_is_one_picture_the_most_important_first(opened):
    browser, model = opened
    names = browser.run(f"{PICTURES}.map(f => f.querySelector('figcaption bdi').textContent)")
    expected = [curve for curves in curves_of(model) for curve in sorted(curves, key=lambda c: c.is_uncertain)]
    assert names == ([curve.name for curve in expected] if has_variables(model) else [])
    seen = browser.run(f"{PICTURES}.map(f => f.checkVisibility())")
    assert seen == [(not c.is_uncertain and i < 12) for i, c in enumerate(expected)][: len(names)]


def test_pictures_have_one_scale_and_stairs_are_as_high_as_their_levels(opened):
    browser, model = opened
    axes = browser.run(
        f"{PICTURES}.map(f => [...f.querySelectorAll('.plot > .tick[x=\"-8\"]')]"
        ".map(t => [t.textContent.slice(1), t.getAttribute('y') - 4].map(Number)))"
    )
    assert all(axis == axes[0] for axis in axes)
    stairs = browser.run(f"{PICTURES}.map(f => [...f.querySelectorAll('.curve')].map(l => +l.getAttribute('y1')))")
    drawn = [curve for curves in curves_of(model) for curve in sorted(curves, key=lambda c: c.is_uncertain)]
    for curve, heights in zip(drawn, stairs, strict=False):
        (low, bottom), (high, top) = axes[0][0], axes[0][-1]
        pixels = (bottom - top) / math.log(high / low)
        if curve.shape == "steps":
            expected = [bottom - pixels * (level.value - math.log(low)) for level in curve.levels]
            within = [min(max(height, 10), 160) for height in expected]
            assert heights[: len(within)] == pytest.approx(within, abs=0.1)


def test_pictures_stay_within_their_frames(unfolded):
    """Text and drawings of a variable lie within its card, also where labels are tilted."""
    browser, _ = unfolded
    outside = browser.run(
        f"{PICTURES}.flatMap(f => {{ const card = f.getBoundingClientRect(); "
        "return [...f.querySelectorAll('svg text, svg line:not(.curve)')].map(e => e.getBoundingClientRect())"
        ".filter(r => r.left < card.left - 1 || r.right > card.right + 1 || r.bottom > card.bottom + 1).length; })"
    )
    assert sum(outside) == 0


def test_what_may_be_noise_is_folded_until_asked_for(opened):
    browser, model = opened
    folded = (
        f"return [...document.querySelectorAll('{WEIGHTS} details.uncertain tbody th')].map(e => e.checkVisibility())"
    )
    uncertain = [effect for output in outputs_of(model) for effect in output.uncertain]
    assert browser.run(folded) == [False] * len(uncertain)
    browser.run(OPEN)
    assert browser.run(folded) == [True] * len(uncertain)
    browser.run(CLOSE)


def test_all_links_lead_somewhere_on_the_page(opened):
    browser, _ = opened
    targets = browser.run("return [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))")
    assert len(targets) >= 7
    for target in targets:
        assert target.startswith("#")
        assert browser.run("return document.getElementById(arguments[0]) !== null", target[1:])


def test_everything_has_a_name_and_headings_are_in_order(unfolded):
    browser, _ = unfolded
    for selector, role in (("figure > svg", ("image", "img")), ("table", ("table",)), (".scroll", ("region",))):
        found = [browser.accessible(element) for element in browser.find(selector)]
        assert found
        assert all(kind in role and name for kind, name in found)
    for landmark in ("header", "nav", "main", "footer"):
        assert len(browser.find(landmark)) == 1
    levels = browser.run("return [...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable(unfolded, scheme):
    browser, _ = unfolded
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(13, 18, 23)") is (scheme == "dark")
    assert browser.run(CONTRAST) == []


def test_a_narrow_screen_needs_no_scrolling_to_the_side(unfolded):
    browser, _ = unfolded
    browser.devtools("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=False)
    assert browser.run("return document.documentElement.scrollWidth") <= 400
    browser.devtools("Emulation.clearDeviceMetricsOverride")


def test_the_keyboard_reaches_the_content_first(opened):
    browser, _ = opened
    for kind in ("keyDown", "keyUp"):
        browser.devtools("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.run("return document.activeElement.getAttribute('href')") == "#content"
    assert browser.run("return document.activeElement.getBoundingClientRect().left") >= 0
