"""Pictures of variables: one scale for all, everything at its place, and every picture also in words."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardzero.model.curves import Curve, Level, curves_of
from hardzero.report import pictures, render_report, wording
from hardzero.schema.columns import Categorical, Numeric, Schema

from ..models import STEPS, made_up, made_up_with_schema, told_by_column
from .test_report import Page

COEF = (-0.5, 1.0, 2.0, 0.3, -1.0, 0.0, 0.2, 0.0, 0.7)
Q_VALUES = {"age": 0.001, "smoker": 0.02, "activity": 0.01, "gain": 0.9, "admission": 0.6}
MODEL = made_up_with_schema(COEF, STEPS, told_by_column(STEPS, COEF, Q_VALUES))
CURVES = {curve.name: curve for curve in curves_of(MODEL)[0]}


def curve(values, shape="categories", *, intervals=None, starts=None, shares=None, reliable=True):
    """A curve with these values, its levels one after the other."""
    size = len(values)
    starts = starts or [*range(size + 1)]
    levels = tuple(
        Level(f"level {i}", values[i], intervals and intervals[i], starts[i], starts[i + 1], shares and shares[i])
        for i in range(size)
    )
    return Curve("v", shape, levels, True, shape in ("line", "steps"), None, None, reliable, 1.0, 1.0)


def scale(*curves, as_odds=True):
    return pictures.scale_of(curves, as_odds=as_odds)


def test_the_scale_holds_values_and_intervals():
    both = curve([-1.0, 1.0], intervals=[(-1.5, -0.5), (0.8, 1.2)])
    assert (scale(both).low, scale(both).high) == (-1.5, 1.2)
    assert [tick.label for tick in scale(both).ticks] == ["×0.5", "×1", "×2"]
    assert scale(both).y(1.2) == 10
    assert scale(both).y(-1.5) == 160
    assert scale(both).y(-0.15) == pytest.approx(85)
    assert scale(both).y(99) == 10


def test_what_is_extreme_or_rare_or_uncertain_leaves_the_scale():
    usual = [curve([-0.5, 0.7]), curve([-0.6, 0.5]), curve([0.4, -0.3])]
    assert scale(*usual, curve([-0.2, 9.0])).high == 0.7
    assert scale(*usual, curve([-0.2, 9.0], shares=[0.98, 0.02])).high == 0.7
    assert scale(*usual, curve([-0.2, 1.2], shares=[0.5, 0.5])).high == 1.2
    assert scale(*usual, curve([-0.2, 1.2], reliable=False)).high == 0.7
    assert scale(curve([-0.2, 1.2], reliable=False)).high == 1.2


def test_a_scale_is_neither_too_short_nor_too_long():
    assert scale().high == pytest.approx(math.log(1.25))
    assert [tick.label for tick in scale(curve([0.01, -0.01])).ticks] == ["×0.8", "×0.9", "×1", "×1.1", "×1.25"]
    long = scale(curve([-50.0, 50.0]))
    assert [tick.label for tick in (long.ticks[0], long.ticks[-1])] == ["×0.001", "×1000"]


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9), st.booleans())
def test_ticks_lie_on_the_axis_and_are_few(values, as_odds):
    axis = scale(curve(values), as_odds=as_odds)
    places = [tick.place for tick in axis.ticks]
    assert 0 < len(places) <= 7
    assert places == sorted(places)
    assert axis.low <= places[0] <= places[-1] <= axis.high
    assert 0.0 in [round(place, 9) for place in places]
    assert all(10 <= axis.y(value) <= 160 for value in values)


def test_a_number_has_a_scale_of_its_own_unit():
    axis = scale(curve([-30.0, 70.0]), as_odds=False)
    assert [tick.label for tick in axis.ticks] == ["−20", "0", "+20", "+40", "+60"]
    assert [tick.label for tick in scale(as_odds=False).ticks] == ["−1", "0", "+1"]
    assert axis.written(12.5) == "+12.5"


def test_stairs_lie_where_their_values_do():
    age = pictures.picture(CURVES["age"], scale(*CURVES.values()))
    assert [(mark.left, mark.right) for mark in age.marks] == [
        pytest.approx((100 * (left - 18) / 82, 100 * (right - 18) / 82))
        for left, right in ((18, 30), (30, 50.5), (50.5, 70), (70, 100))
    ]
    assert [tick.label for tick in age.ticks] == ["25", "50", "75", "100"]
    assert age.ticks[-1].anchor == "end"
    assert [joint[0] for joint in age.joints] == [mark.left for mark in age.marks[1:]]
    assert age.joints[0][1:] == (age.marks[0].y, age.marks[1].y)
    assert age.marks[0].band[0] < age.marks[0].y < age.marks[0].band[1]


def test_cuts_that_crowd_get_the_same_room_each():
    steps = curve([0.1, 0.2, 0.3, 0.4], "steps", starts=[0, 10, 20, 30, 1000])
    drawn = pictures.picture(steps, scale(steps))
    assert [mark.left for mark in drawn.marks] == [0, 25, 50, 75]
    assert [(tick.place, tick.label) for tick in drawn.ticks] == [(25, "10"), (50, "20"), (75, "30")]
    even = curve([0.1, 0.2, 0.3, 0.4], "steps", starts=[0, 200, 500, 700, 1000])
    assert [mark.left for mark in pictures.picture(even, scale(even)).marks] == [0, 20, 50, 70]


def test_bars_are_sorted_and_only_the_farthest_are_drawn():
    values = [0.1 * i for i in range(-30, 31)]
    bars = curve(values)
    drawn = pictures.picture(bars, scale(bars))
    assert len(drawn.marks) == pictures.MOST_LEVELS
    assert drawn.hidden == len(values) - pictures.MOST_LEVELS
    heights = [mark.y for mark in drawn.marks]
    assert heights == sorted(heights)
    assert drawn.wide
    assert drawn.marks[0].name == "level 60"


def test_labels_that_need_room_are_tilted_and_shortened():
    names = Categorical("town", ("a rather long name of a town", "b", "c"))
    (towns,) = curves_of(made_up_with_schema((1.0, 0.5, 0.2, 0.1), Schema((names,), STEPS.target)))[0]
    drawn = pictures.picture(towns, scale(towns))
    assert drawn.tilt
    assert [tick.label for tick in drawn.ticks] == ["a rather long nam…", "b", "c", "other"]
    short = pictures.picture(CURVES["smoker"], scale(*CURVES.values()))
    assert not short.tilt
    assert [tick.label for tick in short.ticks] == ["no or missing", "yes"]
    assert drawn.height > short.height


def test_a_line_keeps_its_slope_where_it_leaves_the_axis():
    line = replace(curve([0.0, 8.0], "line", intervals=[(0.0, 0.0), (6.0, 10.0)]), counted=True)
    axis = scale(curve([-1.0, 1.0]))
    drawn = pictures.picture(line, axis)
    low, high = drawn.marks
    assert low.y == 85
    assert high.y == pytest.approx(85 - 8 * 75)  # far above the picture, where it is cut off
    assert [float(corner.split(",")[1]) for corner in drawn.outline.split()] == pytest.approx(
        [85, 85 - 750, 85 - 450, 85]
    )


def arrows(values, shape="categories", **parts):
    """Where a curve with these values leaves an axis from -1 to 1, and the marks there."""
    drawn = pictures.picture(curve(values, shape, **parts), scale(curve([-1.0, 1.0])))
    return [(arrow.label, pytest.approx(arrow.place)) for arrow in drawn.arrows]


def test_an_arrow_marks_what_leaves_the_axis():
    steps = curve([0.5, 5.0, 6.0, -4.0], "steps")
    drawn = pictures.picture(steps, scale(curve([-1.0, 1.0])))
    assert [mark.y for mark in drawn.marks][1:] == [10, 10, 160]
    assert [mark.gone for mark in drawn.marks] == [False, True, True, True]
    assert arrows([0.5, 5.0, 6.0, -4.0], "steps", starts=[0, 1, 2, 4, 10]) == [("▲", 30), ("▼", 70)]
    assert arrows([0.5, 5.0, -0.2, 6.0]) == [("▲", 12.5), ("▲", 37.5)]  # each bar, the largest first
    assert arrows([0.5, -0.5]) == arrows([1.0, -1.0], "steps") == []


def test_an_arrow_marks_intervals_that_leave_the_axis():
    intervals = [(-0.1, 0.3), (0.2, 1.4), (-2.0, 2.0)]
    assert arrows([0.1, 0.8, 0.0], intervals=intervals) == [("▲", 50 / 3), ("▲", 250 / 3), ("▼", 250 / 3)]
    assert arrows([0.1, 0.8, 3.0], "steps", intervals=[*intervals[:2], (2.5, 3.5)]) == [("▲", 250 / 3)]


def test_a_line_and_its_band_are_marked_where_they_are_cut_off():
    assert arrows([0.0, 8.0], "line", starts=[0, 10, 10]) == [("▲", 12.5)]
    assert arrows([0.0, 0.5], "line", starts=[0, 10, 10], intervals=[(0, 0), (-0.5, 2.0)]) == [("▲", 50)]
    both_ways = {"starts": [0, 5, 10, 10], "intervals": [(-3.0, 2.0), (0, 0), (-2.0, 3.0)]}
    assert arrows([-0.5, 0.0, 0.5], "line", **both_ways) == [
        ("▲", 25), ("▲", 50 + 50 / 3), ("▼", 50 * 2 / 3), ("▼", 75),
    ]  # fmt: skip
    assert arrows([2.0, 3.0], "line", starts=[0, 10, 10]) == [("▲", 50)]
    assert arrows([-0.5, 1.0], "line", starts=[0, 10, 10]) == []


@pytest.mark.parametrize(("far", "said"), [(9.0, True), (0.8, False)])
def test_the_page_explains_marks_only_where_there_are_some(far, said):
    features = tuple(f"n{i}" for i in range(5))
    schema = Schema(tuple(Numeric(name, 0, 1) for name in features), STEPS.target)
    page = Page(render_report(made_up_with_schema((0.7, 0.6, 0.5, 0.6, far), schema)))
    marks = [text for path, text in page.texts if path[-1:] == ("text",) and text in ("▲", "▼")]
    assert bool(marks) == ("go on beyond the scale" in page.text) == said


def test_long_labels_of_an_axis_are_fewer():
    wide, narrow = (
        pictures.picture(curve([0.0, 1.0], "line", starts=[0, upper, upper]), scale(curve([1.0]))).ticks
        for upper in (10**8, 100)
    )
    assert len(wide) < len(narrow)


def test_every_picture_is_also_told_in_words():
    page = Page(render_report(MODEL))
    titles = [text for path, text in page.texts if path[-1:] == ("title",) and path[-2] != "rect"]
    assert "age: steps, reliable" in titles
    assert "gain: a straight line, cannot be told from noise" in titles
    assert "smoker: a bar for each category, reliable" in titles
    told = next(text for text in page.inside("desc") if text.startswith("under 30"))
    assert told.startswith("under 30 or missing: ×0.607 (0.377 to 0.975); 30 to under 50.5: ×0.368")
    many = curve([0.1 * i for i in range(20)])
    assert pictures.described(pictures.picture(many, scale(many))).endswith("; and 8 more in the table below")


def test_noise_is_apart_and_said_in_words():
    page = Page(render_report(MODEL))
    assert "2 kept variables cannot be told from noise" in page.inside("summary")
    folded = [text for path, text in page.texts if path[-2:] == ("strong", "bdi") and "details" in path]
    assert folded == ["gain", "admission"]
    assert page.text.count("cannot be told from noise") >= 4
    assert "×1 is the average record" in page.text
    assert "over all 5 variables" in page.text
    assert "using 5 of 5 variables, 3 of them reliable" in page.text


def test_a_page_with_nothing_reliable_says_so():
    doubtful = told_by_column(STEPS, COEF, dict.fromkeys(STEPS.variables, 0.5))
    page = Page(render_report(made_up_with_schema(COEF, STEPS, doubtful)))
    assert "None of the kept variables is reliable" in page.text
    assert "No variable was kept" in Page(render_report(made_up_with_schema((0.0,) * 9, STEPS))).text


def test_after_twelve_pictures_the_rest_is_folded():
    schema = Schema(tuple(Numeric(f"n{i}", 0, 1) for i in range(15)), STEPS.target)
    page = Page(render_report(made_up_with_schema((1.0,) * 15, schema)))
    assert "Show 3 less important variables" in page.inside("summary")
    assert len([1 for path, _ in page.texts if path[-2:] == ("strong", "bdi") and "details" not in path]) == 12


def test_single_weights_are_folded_below():
    page = Page(render_report(MODEL))
    assert "Show 7 features with their weights" in page.inside("summary")
    rows = [(path, text) for path, text in page.texts if text == "age>=30"]
    assert rows
    assert all("details" in path for path, _ in rows)
    assert "Features and weights" in Page(render_report(made_up())).text
    assert "Variables" not in Page(render_report(made_up())).inside("h2")


def test_variables_without_a_weight_are_listed_by_name():
    page = Page(render_report(made_up_with_schema((1.0,) + (0.0,) * 8, STEPS)))
    assert [text for path, text in page.texts if path[-2:] == ("li", "bdi")] == [
        "gain", "smoker", "admission", "activity",
    ]  # fmt: skip
    assert "8 features of 9 have a weight of exactly zero" in page.text
    assert "4 variables have no weight at all" in page.text


def test_each_class_has_its_own_pictures():
    coef = ((1.0,) + (0.0,) * 8, (0.0,) * 9, (0.0,) * 8 + (2.0,))
    schema = replace(STEPS, target=replace(STEPS.target, classes=("a", "b", "c"), positive="c"))
    model = replace(
        made_up_with_schema(schema=STEPS), classes=("a", "b", "c"), coef_scaled=coef, intercept_scaled=(0.0,) * 3,
        schema=schema,
    )  # fmt: skip
    page = Page(render_report(model))
    assert [text for path, text in page.texts if path[-2:] == ("strong", "bdi")] == ["age", "activity"]
    assert "No variable was kept for this class" in page.text


def test_short_texts_stay_as_they_are():
    assert wording.shortened("abcde", 5) == "abcde"
    assert wording.shortened("abcdef", 5) == "abcd…"
