"""The main job on bundled data: who earns more than 50,000 a year, with a guarantee for everyone in the table."""

import time

from hardzero import LassoLogisticRegression, SparsePrivateLogisticRegression
from hardzero.datasets import load_adult_sample


def main() -> None:
    train, test = load_adult_sample("train"), load_adult_sample("test")
    rows, features = train.X.shape
    print(f"UCI Adult, a sample: {rows} people to learn from, {len(test.y)} to test on, {features} features\n")
    model = SparsePrivateLogisticRegression(epsilon=1.0, bounds=train.bounds, classes=train.classes)
    start = time.perf_counter()
    model.fit(train.X, train.y)
    print(f"fitted in {time.perf_counter() - start:.1f} s\n")
    print(model.summary(train.feature_names))
    free = LassoLogisticRegression(bounds=train.bounds).fit(train.X, train.y)
    print(
        f"\naccuracy on new people: {model.score(test.X, test.y):.1%} with {len(model.support_)} features; "
        f"without privacy: {free.score(test.X, test.y):.1%} with {len(free.support_)}; "
        f"always answering no: {(test.y == train.classes[0]).mean():.1%}"
    )


if __name__ == "__main__":
    main()
