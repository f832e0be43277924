"""The main job on bundled data: who earns more than 50,000 a year, with a guarantee for everyone in the table."""

import time

from hardzero import LassoLogisticRegression, SparsifierLogisticRegression
from hardzero.datasets import load_adult_sample


def main() -> None:
    train, test = load_adult_sample("train"), load_adult_sample("test")
    print(
        f"{train.name}: {train.X.shape[0]} people to learn from, {test.X.shape[0]} to test on, "
        f"{train.X.shape[1]} features with public bounds\n"
    )
    model = SparsifierLogisticRegression(
        epsilon=1.0, bounds=train.bounds, classes=train.classes, fit_intercept=True, radius=5.0, n_iter=200
    )
    start = time.perf_counter()
    model.fit(train.X, train.y)
    print(f"fitted in {time.perf_counter() - start:.1f} s\n")
    print(model.summary(train.feature_names))
    exact = LassoLogisticRegression(radius=5.0, bounds=train.bounds).fit(train.X, train.y)
    print(
        f"\naccuracy on new people: {model.score(test.X, test.y):.1%} with {len(model.support_)} features"
        f" (without privacy: {exact.score(test.X, test.y):.1%} with {len(exact.support_)};"
        f" always 'no': {(test.y == train.classes[0]).mean():.1%})"
    )


if __name__ == "__main__":
    main()
