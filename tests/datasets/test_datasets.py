import bz2
import gzip
import hashlib
import lzma
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from hardzero import datasets
from hardzero.datasets import DataNotFound, Dataset, load, load_adult_sample, make_synthetic, max_abs_scaled

# name, part, rows, features, non-zeros (None: not published), count of each class (None: only the classes)
PUBLISHED = [
    ("a9a", "train", 32_561, 123, 451_592, (24_720, 7_841)),
    ("a9a", "test", 16_281, 123, 225_731, (12_435, 3_846)),
    ("w8a", "train", 49_749, 300, 579_586, (48_270, 1_479)),
    ("w8a", "test", 14_951, 300, 174_276, (14_497, 454)),
    ("mushrooms", "train", 8_124, 112, 170_604, (3_916, 4_208)),
    ("phishing", "train", 11_055, 68, 331_650, (4_898, 6_157)),
    ("splice", "train", 1_000, 60, 60_000, (483, 517)),
    ("splice", "test", 2_175, 60, 130_500, (1_044, 1_131)),
    ("colon-cancer", "train", 62, 2_000, 124_000, (40, 22)),
    pytest.param("gisette", "test", 1_000, 5_000, 4_971_000, (500, 500), marks=pytest.mark.slow),
    pytest.param("covtype", "train", 581_012, 54, None, (297_711, 283_301), marks=pytest.mark.slow),
    pytest.param("kdd99", "train", 494_021, 118, None, (396_743, 97_278), marks=pytest.mark.slow),
    pytest.param("kdd99", "test", 311_029, 118, None, (250_436, 60_593), marks=pytest.mark.slow),
    ("news20", "train", 15_935, 62_061, 1_272_569, None),
    ("20news-bow", "train", 11_314, 44_628, 1_470_036, None),
    ("20news-bow", "test", 7_532, 44_628, 938_764, None),
    ("mnist", "train", 60_000, 784, None, None),
    ("mnist", "test", 10_000, 784, None, None),
    ("dna", "train", 2_000, 180, 91_233, (464, 485, 1_051)),
    ("dna", "test", 1_186, 180, 53_669, (303, 280, 603)),
    ("letter", "train", 15_000, 16, 240_000, None),
    ("satimage", "train", 4_435, 36, 158_048, (1_072, 479, 961, 415, 470, 1_038)),
    ("segment", "train", 2_310, 19, 41_469, (330,) * 7),
    ("vehicle", "train", 846, 18, 14_927, (212, 217, 218, 199)),
    ("adult", "train", 32_561, 107, None, (24_720, 7_841)),
    ("adult", "test", 16_281, 107, None, (12_435, 3_846)),
    ("breast-cancer", "train", 569, 30, None, (212, 357)),
]


@pytest.fixture(scope="module")
def loaded():
    """Load a part once for the whole module, or skip the test if its files are not on this machine."""
    kept: dict[tuple[str, str], Dataset] = {}

    def get(name: str, part: str = "train") -> Dataset:
        if (name, part) not in kept:
            try:
                kept[name, part] = load(name, part)
            except DataNotFound:
                pytest.skip(f"the files of {name!r} ({part}) are not here; set HARDZERO_DATA to their folder")
        return kept[name, part]

    return get


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two empty folders: the one that HARDZERO_DATA names, and the cache folder of the library."""
    named, cached = tmp_path / "named", tmp_path / "cache" / "hardzero"
    named.mkdir()
    cached.mkdir(parents=True)
    monkeypatch.setenv("HARDZERO_DATA", str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cached.parent))
    return named, cached


@pytest.fixture
def register(monkeypatch):
    """Return a function that puts a copy of a registered source, with other files, in place of the original."""

    def put(name: str, files: dict[str, bytes], **changes) -> None:
        digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
        source = replace(datasets.origins()[name], parts={"train": digests}, **changes)
        registry = {**datasets.origins(), name: source}
        monkeypatch.setattr(datasets, "origins", lambda: registry)

    return put


def write(folder: Path, files: dict[str, bytes]) -> None:
    for file, content in files.items():
        (folder / file).write_bytes(content)


def extremes(X) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(X, np.ndarray):
        return X.min(axis=0), X.max(axis=0)
    return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()


def within(dataset: Dataset) -> bool:
    (lowest, highest), (lower, upper) = extremes(dataset.X), dataset.bounds
    return bool((lowest >= lower).all() and (highest <= upper).all())


def groups(dataset: Dataset) -> dict[str, np.ndarray]:
    """For each category the number of ones that each row has among its indicators."""
    names = [name.partition("=")[0] if "=" in name else None for name in dataset.feature_names]
    X = sparse.csc_array(dataset.X)
    return {
        group: X[:, [i for i, name in enumerate(names) if name == group]].sum(axis=1)
        for group in dict.fromkeys(name for name in names if name)
    }


# The real files


@pytest.mark.parametrize(("name", "part", "rows", "features", "nonzeros", "counts"), PUBLISHED)
def test_agrees_with_the_published_figures(loaded, name, part, rows, features, nonzeros, counts):
    dataset = loaded(name, part)
    assert dataset.name == name
    assert dataset.X.shape == (rows, features)
    assert dataset.X.dtype == np.float64
    assert dataset.y.shape == (rows,)
    found, found_counts = np.unique(dataset.y, return_counts=True)
    assert tuple(found.tolist()) == dataset.classes
    if counts is not None:
        assert tuple(found_counts) == counts
    if nonzeros is not None:
        assert (np.count_nonzero(dataset.X) if isinstance(dataset.X, np.ndarray) else dataset.X.nnz) == nonzeros
    if dataset.feature_names is not None:
        assert len(set(dataset.feature_names)) == features
    if sparse.issparse(dataset.X):
        assert dataset.X.has_canonical_format
        assert dataset.X.indices.dtype == np.int32  # liblinear refuses 64-bit indices
    (lowest, highest), (lower, upper) = extremes(dataset.X), dataset.bounds
    assert np.all(np.less(lower, upper))
    assert (lowest >= lower).all()
    # Clipping bounds are meant to be exceeded; gisette's test part was scaled by its training part.
    assert (highest <= upper).all() != (dataset.bounds_basis == "clip" or name == "gisette")


def test_every_registered_part_is_checked_above():
    listed = {getattr(row, "values", row)[:2] for row in PUBLISHED}
    registered = {(name, part) for name, source in datasets.origins().items() for part in source.parts}
    assert registered - listed == {("gisette", "train")}  # its file is on few machines, its checksum unknown


@pytest.mark.slow
def test_kdd99_rows_are_one_hot(loaded):
    for counts in groups(loaded("kdd99")).values():
        assert (counts == 1).all()
    test = groups(loaded("kdd99", "test"))
    assert set(test) == {"protocol_type", "service", "flag"}
    assert (test["protocol_type"] == 1).all()
    assert 0 < (test["service"] == 0).sum() < 10  # service icmp is unknown to the training file


def test_adult_rows_are_one_hot_and_missing_is_a_category(loaded):
    dataset = loaded("adult")
    assert all((counts == 1).all() for counts in groups(dataset).values())
    column = dataset.X[:, [dataset.feature_names.index("workclass=?")]]
    assert column.sum() == 1_836


def test_words_are_the_feature_names(loaded):
    names = loaded("20news-bow").feature_names
    assert list(names) == sorted(names)
    assert names == loaded("20news-bow", "test").feature_names


def test_phishing_rows_have_norm_one(loaded):
    X = loaded("phishing").X
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0, atol=1e-4)


def test_mnist_pixels_are_in_their_places(loaded):
    dataset = loaded("mnist")
    assert dataset.y[:5].tolist() == [5, 0, 4, 1, 9]
    border = dataset.X[:, list(range(28))].sum()  # the upper edge is nearly always blank
    middle = dataset.X[:, list(range(14 * 28, 15 * 28))].sum()
    assert border < middle / 100


@pytest.mark.slow
def test_kdd99_paper_protocol(loaded, monkeypatch):
    full = loaded("kdd99")
    monkeypatch.setattr(datasets, "load", lambda name: full)
    dataset = datasets.kdd99_paper_protocol(3)
    assert dataset.X.shape == (60_000, 118)
    assert (dataset.y == "normal.").sum() == 38_420
    assert dataset.bounds_basis == "derived"
    assert within(dataset)
    np.testing.assert_allclose(np.sqrt(dataset.X.multiply(dataset.X).sum(axis=1)), 1.0)
    again, other = datasets.kdd99_paper_protocol(3), datasets.kdd99_paper_protocol(4)
    assert (again.X != dataset.X).nnz == 0
    assert (other.X != dataset.X).nnz > 0
    assert 0.5 < (dataset.y[:1_000] == "normal.").mean() < 0.8  # in random order


# The bundled sample, and what needs no file


@pytest.mark.parametrize(("part", "rows"), [("train", 12_000), ("test", 4_000)])
def test_adult_sample(folders, part, rows):
    dataset = load_adult_sample(part)
    assert dataset.X.shape == (rows, 107)
    assert len(dataset.feature_names) == 107
    assert set(dataset.y) == set(dataset.classes) == {"<=50K", ">50K"}
    assert dataset.bounds_basis == "public"
    assert within(dataset)
    assert all((counts == 1).all() for counts in groups(dataset).values())
    lower, upper = dataset.bounds
    position = dataset.feature_names.index
    assert (lower[position("age")], upper[position("age")]) == (0, 100)
    assert (lower[position("education=Masters")], upper[position("education=Masters")]) == (0, 1)


def test_adult_sample_first_record():
    dataset = load_adult_sample()
    row = dataset.X[[0]].toarray().ravel()
    record = {name: value for name, value in zip(dataset.feature_names, row, strict=True) if value}
    assert record.pop("age") == 39
    assert record.pop("education-num") == 13
    assert record.pop("capital-gain") == 2_174
    assert record.pop("hours-per-week") == 40
    assert set(record.values()) == {1.0}
    assert {"workclass=State-gov", "education=Bachelors", "sex=Male", "native-country=United-States"} < set(record)
    assert dataset.y[0] == "<=50K"


def test_adult_sample_is_the_beginning_of_adult(loaded):
    sample, full = load_adult_sample(), loaded("adult")
    assert sample.feature_names == full.feature_names
    assert (full.X[: len(sample.y)] != sample.X).nnz == 0
    assert (sample.y == full.y[: len(sample.y)]).all()


def test_repr_shows_no_record():
    assert "X=" not in repr(load_adult_sample())
    assert "39" not in repr(load_adult_sample())


def test_dataset_is_frozen():
    dataset, _ = make_synthetic(10, 8, seed=0)
    with pytest.raises(FrozenInstanceError):
        dataset.bounds = (0.0, 1.0)


def test_synthetic_follows_the_paper():
    dataset, weights = make_synthetic(seed=0)
    assert dataset.X.shape == (10_000, 100)
    assert weights.tolist() == [10, 9, 8, 7, 6, 5, 4, 0.5] + [0] * 92
    np.testing.assert_array_equal(np.abs(dataset.X).max(axis=0), 1.0)
    np.testing.assert_array_equal(dataset.y, dataset.X @ weights > 0)
    lags = np.abs(np.subtract.outer(np.arange(100), np.arange(100)))
    np.testing.assert_allclose(np.corrcoef(dataset.X, rowvar=False), 0.5**lags, atol=0.05)


def test_synthetic_depends_on_the_seed_only():
    (first, _), (again, _), (other, _) = (make_synthetic(50, 9, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize(("rows", "features"), [(0, 100), (10, 7)])
def test_synthetic_refuses_a_shape_that_is_too_small(rows, features):
    with pytest.raises(ValueError, match="at least 1 row and 8 features"):
        make_synthetic(rows, features, seed=0)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_max_abs_scaled(make):
    X = make([[2.0, 0.0, -4.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    dataset = Dataset("tiny", X, np.array([0, 1, 1]), (-9.0, 9.0), "public", (0, 1), None, "Tiny.")
    scaled = max_abs_scaled(dataset)
    assert type(scaled.X) is type(X)
    values = scaled.X if isinstance(scaled.X, np.ndarray) else scaled.X.toarray()
    np.testing.assert_array_equal(values, [[1.0, 0.0, -1.0], [0.5, 0.0, 0.75], [0.0, 0.0, 0.0]])
    assert scaled.bounds == (-1.0, 1.0)
    assert scaled.bounds_basis == "derived"
    assert "not private" in scaled.description
    assert dataset.X.max() == 3.0  # the original is left alone


# Finding and checking files


def test_breast_cancer_needs_no_file(folders):
    assert datasets.available() == ["breast-cancer"]
    assert load("breast-cancer").feature_names[0] == "mean radius"


def test_breast_cancer_columns_are_scikit_learns():
    from sklearn.datasets import load_breast_cancer

    assert list(load("breast-cancer").feature_names) == list(load_breast_cancer().feature_names)


def test_available_wants_all_files_of_some_part(folders):
    named, cached = folders
    write(named, {"20news-bow.t.bz2": b"", "a9a.t.bz2": b"", "mnist-t10k-labels-idx1-ubyte.gz": b""})
    write(cached, {"20news-bow.vocab.xz": b""})
    assert datasets.available() == ["a9a", "20news-bow", "breast-cancer"]


def test_missing_file_says_what_to_do(folders):
    with pytest.raises(DataNotFound) as caught:
        load("a9a", "test")
    assert isinstance(caught.value, FileNotFoundError)
    for text in ("'a9a.t.bz2'", *map(str, folders), "LIBSVM data page, binary section", "HARDZERO_DATA"):
        assert text in str(caught.value)


def test_missing_file_without_the_variable(folders, monkeypatch):
    monkeypatch.delenv("HARDZERO_DATA")
    with pytest.raises(DataNotFound, match="the variable is not set"):
        load("w8a")


def test_cache_folder_defaults_to_the_home_folder(tmp_path, monkeypatch):
    for variable in ("HARDZERO_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataNotFound) as caught:
        load("w8a")
    assert str(tmp_path / ".cache" / "hardzero") in str(caught.value)


def test_wrong_checksum_is_refused_unless_trusted(folders):
    write(folders[0], {"a9a.bz2": bz2.compress(b"-1 1:1\n+1 2:1\n")})
    with pytest.raises(ValueError, match="SHA-256") as caught:
        load("a9a")
    for text in (str(folders[0] / "a9a.bz2"), "get it again from", "verify=False"):
        assert text in str(caught.value)
    assert load("a9a", verify=False).X.shape == (2, 123)


def test_a_replaced_file_is_checked_again(folders, register):
    files = {"a9a.bz2": bz2.compress(b"-1 1:1\n+1 2:1\n")}
    register("a9a", files)
    write(folders[0], files)
    load("a9a")
    write(folders[0], {"a9a.bz2": bz2.compress(b"-1 1:1\n+1 2:1\n-1 3:1\n")})
    with pytest.raises(ValueError, match="is not the expected file"):
        load("a9a")


def test_a_file_is_hashed_once(folders, register):
    files = {"a9a.bz2": bz2.compress(b"-1 1:1\n+1 3:1\n")}
    register("a9a", files)
    write(folders[0], files)
    before = datasets.files._sha256.cache_info()
    load("a9a")
    load("a9a")
    after = datasets.files._sha256.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 1)


def test_no_known_checksum_means_no_check(folders):
    write(folders[1], {"gisette_scale.bz2": bz2.compress(b"-1 1:1\n+1 5000:0.5\n")})
    assert load("gisette").X.shape == (2, 5_000)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"name='a9b' .*a9a, w8a, .*breast-cancer"):
        load("a9b")


@pytest.mark.parametrize("call", [lambda: load("a9a", "valid"), lambda: load_adult_sample("valid")])
def test_unknown_part_lists_the_known_ones(call):
    with pytest.raises(ValueError, match=r"part='valid' .*: train, test"):
        call()


# Formats, from tiny files


def test_libsvm_keeps_the_number_of_features(folders):
    write(folders[0], {"w8a.bz2": bz2.compress(b"-1 3:1 12:1\n+1\n")})
    dataset = load("w8a", verify=False)
    assert dataset.X.shape == (2, 300)
    assert dataset.X[[0]].indices.tolist() == [2, 11]
    assert dataset.y.tolist() == [-1, 1]


def test_labels_beyond_the_public_classes_are_refused(folders):
    write(folders[0], {"w8a.bz2": bz2.compress(b"-1 3:1\n2 4:1\n")})
    with pytest.raises(ValueError, match=r"labels other than the public classes \(-1, 1\)"):
        load("w8a", verify=False)


def test_table_with_a_header(folders):
    header = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    header += "capital-gain,capital-loss,hours-per-week,native-country,income\n"
    row = "30,?,77,Masters,14,Divorced,Sales,Wife,Other,Female,0,9,40,Atlantis,>50K\n"
    write(folders[0], {"adult.csv.xz": lzma.compress((header + row).encode())})
    dataset = load("adult", verify=False)
    values = dataset.X.toarray().ravel()
    record = {name: value for name, value in zip(dataset.feature_names, values, strict=True) if value}
    ones = ["workclass=?", "education=Masters", "marital-status=Divorced", "occupation=Sales"]
    ones += ["relationship=Wife", "race=Other", "sex=Female"]  # and no country: Atlantis is not a public one
    numbers = {"age": 30, "education-num": 14, "capital-loss": 9, "hours-per-week": 40}
    assert record == numbers | dict.fromkeys(ones, 1)
    assert dataset.y.tolist() == [">50K"]


def test_table_without_a_header(folders):
    rows = [["0", "tcp", "http", "SF", "5", *["0"] * 36, label] for label in ("normal.", "smurf.")]
    write(folders[0], {"kddcup.data_10_percent.gz": gzip.compress("\n".join(map(",".join, rows)).encode())})
    dataset = load("kdd99", verify=False)
    assert dataset.y.tolist() == ["normal.", "attack"]
    assert [dataset.feature_names[j] for j in dataset.X[[1]].indices] == [
        "protocol_type=tcp",
        "service=http",
        "flag=SF",
        "src_bytes",
    ]


def test_numeric_table(folders):
    rows = [",".join(["3000", "90", "5.5", *["0"] * 51, label]) for label in ("2", "7", "2")]
    write(folders[0], {"covtype.data.xz": lzma.compress("\n".join(rows).encode())})
    dataset = load("covtype", verify=False)
    assert dataset.X.shape == (3, 54)
    assert dataset.X[0, :4].tolist() == [3000, 90, 5.5, 0]
    assert dataset.y.tolist() == [1, 0, 1]


def test_idx(folders):
    pixels = np.zeros((2, 784), np.uint8)
    pixels[1, 783] = 255
    images = b"\0\0\x08\x03" + np.array([2, 28, 28], ">u4").tobytes() + pixels.tobytes()
    labels = b"\0\0\x08\x01" + np.array([2], ">u4").tobytes() + bytes([7, 0])
    names = ("mnist-t10k-images-idx3-ubyte.gz", "mnist-t10k-labels-idx1-ubyte.gz")
    write(folders[0], dict(zip(names, map(gzip.compress, (images, labels)), strict=True)))
    dataset = load("mnist", "test", verify=False)
    assert dataset.X.toarray().tolist() == pixels.tolist()
    assert dataset.y.tolist() == [7, 0]


def test_vocabulary_gives_the_feature_names(folders, register):
    files = {"words.bz2": bz2.compress(b"1 1:3\n20 2:1\n"), "words.vocab.xz": lzma.compress(b"apple\npear\n")}
    register("20news-bow", files, n_features=2)
    write(folders[0], files)
    dataset = load("20news-bow")
    assert dataset.feature_names == ("apple", "pear")
    assert dataset.X.toarray().tolist() == [[3, 0], [0, 1]]
