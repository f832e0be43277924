"""Every public name explains every parameter, in numpydoc's form."""

import re
import warnings

import pytest
from sklearn.pipeline import make_pipeline

import hardzero
from hardzero import estimators
from hardzero.schema.encoder import SchemaEncoder

ESTIMATORS = estimators.__all__
validate = pytest.importorskip("numpydoc.validate")

# The section "Privacy" is ours; examples and cross-references are for pages, not for every name.
NOT_ASKED = {"GL06", "GL07", "SA01", "EX01", "ES01"}


def faults_of(name):
    described = getattr(hardzero, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the unknown section
        found = validate.validate(f"{described.__module__}.{name}")
    return [(code, message) for code, message in found["errors"] if code not in NOT_ASKED]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_documents_all_its_parameters(name):
    assert faults_of(name) == []


@pytest.mark.parametrize("name", sorted(set(hardzero.__all__) - set(ESTIMATORS) - {"Neighbours"}))
def test_other_names_document_parameters_or_attributes(name):
    """Fields of a frozen dataclass stand under Attributes."""
    text = getattr(hardzero, name).__doc__
    for code, message in faults_of(name):
        assert code == "PR01", message
        assert not [field for field in re.findall(r"'(\w+)'", message) if not re.search(rf"\b{field}\b.* : ", text)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_displays_an_estimator_without_a_warning(name):
    """Its parser of docstrings warns of sections that it does not know, such as Privacy."""
    pipeline = make_pipeline(SchemaEncoder(None), getattr(hardzero, name)())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert name in pipeline._repr_html_()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_says_what_it_releases(name):
    text = getattr(hardzero, name).__doc__
    assert re.search(r"Notes\n    -----\n    \*\*Privacy\.\*\* (Releases|Not private)", text)
    assert not re.search(r"\{\w+\}\n|As in :class:", text)
