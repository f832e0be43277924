"""Labels as places in the stated classes: the same fit as with the labels themselves."""

import numpy as np
import pytest

from hardzero import SparsePrivateLogisticRegression
from hardzero.data.bounded import BoundedData, Bounds

X = np.random.default_rng(3).uniform(-1, 1, (200, 4))
DATA = BoundedData.from_matrix(X, Bounds.parse((-1, 1), 4))
PLACES = np.digitize(X[:, 0], [-0.3, 0.3]).astype(np.int16)


def make(classes):
    return SparsePrivateLogisticRegression(20.0, bounds=(-1, 1), classes=classes, random_state=1)


@pytest.mark.filterwarnings("ignore:a weak guarantee")
def test_places_give_the_fit_of_their_labels():
    names = ["a", "b", "c"]
    of_labels = make(names).fit_table(DATA, np.array(names)[PLACES])
    of_places = make(names).fit_table(DATA, PLACES, coded=True)
    assert of_places.coef_.tobytes() == of_labels.coef_.tobytes()
    assert of_places.classes_.tolist() == of_labels.classes_.tolist() == names
    assert of_places.privacy_ == of_labels.privacy_


@pytest.mark.filterwarnings("ignore:a weak guarantee")
def test_classes_keep_the_order_in_which_they_are_listed():
    names = ["low", "high", "middle"]
    model = make(names).fit_table(DATA, PLACES, coded=True)
    assert model.classes_.tolist() == names
    assert model.coef_.tobytes() == make([0, 1, 2]).fit_table(DATA, PLACES).coef_.tobytes()
    assert np.mean(model.predict(X) == np.array(names)[PLACES]) > 0.5
    assert model.score(X, np.array(names)[PLACES]) == np.mean(model.predict(X) == np.array(names)[PLACES])


@pytest.mark.parametrize(
    "places",
    [PLACES - 1, PLACES + 1, PLACES.astype(float), PLACES.astype(str), PLACES > 0],
    ids=["below", "above", "floating-point", "text", "booleans"],
)
def test_what_is_no_place_is_refused_without_being_shown(places):
    with pytest.raises(ValueError, match=r"y must hold places in classes: whole numbers from 0 to 2$"):
        make(["a", "b", "c"]).fit_table(DATA, places, coded=True)


@pytest.mark.parametrize("classes", [None, "from-y"])
def test_places_need_a_list_of_classes(classes):
    with pytest.raises(ValueError, match="classes must be a list of labels where y holds places in it"):
        make(classes).fit_table(DATA, PLACES, coded=True)
