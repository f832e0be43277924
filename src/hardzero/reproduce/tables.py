"""Tables 1 and 2: published values beside measured ones."""

from __future__ import annotations

from statistics import fmean

from . import published
from .methods import LASSO, OPTIMUM, PLAIN, RANDOM_START, SELECT_REFIT, SPARSIFIER
from .rows import Rows
from .summaries import Estimate, column, estimates, having, markdown_table, verdict

NOTE1 = """\
Average nonzero weights at λ = 10; in brackets the ratio to the non-private steps of the same source, the paper's as
printed there. ε = 1, δ = 1/n, 1000 private steps, the paper's noise. A random start is a point drawn from the ball,
as Talwar et al. begin: every weight stays nonzero. Where plain steps were not run (–), ratios are to the exact
optimum. Of gisette only the test part is used (1,000 rows)."""
NOTE2 = """\
Accuracy / AUC in percent (nonzero weights) at ε = 1, δ = 1/n. Private LASSO runs for as many steps as give it
Sparsifier's nonzeros, found on pilot splits; neither this search nor the scaling of the features is charged. Bold:
significantly better of the two (Wilcoxon's signed-rank test, paired by seed, p < 0.05); for hardzero: significantly
better than the re-run Sparsifier, and ▼ where significantly worse. Sparsifier's count starts from the exact optimum.
hardzero runs with its defaults; in the last column it may keep no more weights than Sparsifier keeps on average. Of
gisette only the test part is used (1,000 rows)."""


def shown(data: str) -> str:
    """A data set's name in a table."""
    return "gisette (test part)" if data == "gisette" else data


def _count(rows: Rows) -> float:
    return fmean(column(rows, "nonzeros"))


def table1(results: dict[str, Rows]) -> str:
    """Table 1 as Markdown."""
    body = [_density_row(data, rows) for data, rows in results.items()]
    steps = max(
        (n for rows in results.values() for t in rows for name, n in t.parameters if name == "n_iter"), default=0
    )
    head = [
        "data", "trials", "non-private, published", f"{steps:,.0f} plain steps (trials)", "exact optimum",
        "Private LASSO, published", "re-run", "random start", "Sparsifier, published", "re-run",
    ]  # fmt: skip
    return f"{markdown_table(head, body)}\n\n{NOTE1}\n"


def _density_row(data: str, rows: Rows) -> list[str]:
    paper = published.TABLE1[data]
    plain = having(rows, PLAIN, "n_iter")
    base = _count(plain or having(rows, OPTIMUM))
    trials = sorted({len(having(rows, method)) for method in (SPARSIFIER, LASSO, OPTIMUM)})

    def cell(method: str) -> str:
        nonzeros = _count(having(rows, method))
        return f"{nonzeros:.2f} ({nonzeros / base:.2f})"

    return [
        shown(data),
        str(trials[0]) if len(trials) == 1 else f"{trials[0]} to {trials[-1]}",
        f"{paper.non_private:g}",
        f"{base:.1f} ({len(plain)})" if plain else "–",
        f"{_count(having(rows, OPTIMUM)):.1f}",
        f"{paper.lasso:.2f} ({paper.lasso_ratio:.2f})",
        cell(LASSO),
        cell(RANDOM_START),
        f"{paper.sparsifier:.2f} ({paper.sparsifier_ratio:.2f})",
        cell(SPARSIFIER),
    ]


def table1_estimates(results: dict[str, Rows]) -> list[Estimate]:
    """Table 1 as numbers."""
    values = []
    for data, rows in results.items():
        paper = published.TABLE1[data]
        values += [
            Estimate(data, method, "", epsilon, "published", "nonzeros", None, mean, None)
            for method, epsilon, mean in (
                (PLAIN, 0.0, paper.non_private), (LASSO, 1.0, paper.lasso), (SPARSIFIER, 1.0, paper.sparsifier),
            )
        ]  # fmt: skip
        values += estimates(rows, ["nonzeros"])
    return values


def table2(results: dict[str, Rows]) -> str:
    """Table 2 as Markdown."""
    head = [
        "data", "trials", "Sparsifier, published", "Sparsifier, re-run", "Private LASSO, published",
        "Private LASSO, re-run", "its steps", "hardzero", "hardzero, as few weights",
    ]  # fmt: skip
    body = [_score_row(data, rows) for data, rows in results.items()]
    lines = "\n".join(line for data, rows in results.items() for line in behind(data, rows))
    return f"{markdown_table(head, body)}\n\n{NOTE2}\n" + (f"\n{lines}\n" if lines else "")


def behind(data: str, rows: Rows) -> list[str]:
    """One line for each mean of hardzero, with as few weights, below Sparsifier's re-run or anything printed."""
    ours = having(rows, SELECT_REFIT, "max_features")
    printed_sparsifier, printed_lasso = published.TABLE2[data]
    lines = []
    for metric, name in (("accuracy", "accuracy"), ("auc", "AUC")):
        mean = fmean(column(ours, metric))
        others = {
            "Sparsifier, re-run": fmean(column(having(rows, SPARSIFIER), metric)),
            "Sparsifier as printed": getattr(printed_sparsifier, metric),
            "Private LASSO as printed": getattr(printed_lasso, metric),
        }
        better = [f"{other} {value:.2f}" for other, value in others.items() if value > mean]
        if better:
            lines.append(f"- Behind on {shown(data)}: {name} {mean:.2f}; {', '.join(better)}.")
    return lines


def _score_row(data: str, rows: Rows) -> list[str]:
    sparsifier, lasso = having(rows, SPARSIFIER), having(rows, LASSO, "n_iter")
    paper_sparsifier, paper_lasso = published.TABLE2[data]
    (steps,) = {dict(trial.parameters)["n_iter"] for trial in lasso}
    return [
        shown(data),
        str(len(sparsifier)),
        _published_cell(paper_sparsifier),
        _cell(sparsifier, lasso),
        _published_cell(paper_lasso),
        _cell(lasso, sparsifier),
        f"{steps:g}",
        _cell(having(rows, SELECT_REFIT), sparsifier, "▼"),
        _cell(having(rows, SELECT_REFIT, "max_features"), sparsifier, "▼"),
    ]


def _published_cell(score: published.Score) -> str:
    accuracy, auc = _bold(score.accuracy, score.bold_accuracy), _bold(score.auc, score.bold_auc)
    return f"{accuracy} / {auc} ({score.nonzeros})"


def _cell(ours: Rows, theirs: Rows, worse: str = "") -> str:
    """Accuracy / AUC (nonzeros): bold where significantly better, with a mark, if one is given, where worse."""
    parts = []
    for metric in ("accuracy", "auc"):
        sign = verdict(ours, theirs, metric)
        parts.append(_bold(fmean(column(ours, metric)), sign > 0) + (worse if sign < 0 else ""))
    return f"{parts[0]} / {parts[1]} ({_count(ours):.1f})"


def _bold(value: float, is_bold: bool) -> str:
    return f"**{value:.2f}**" if is_bold else f"{value:.2f}"


def table2_estimates(results: dict[str, Rows]) -> list[Estimate]:
    """Table 2 as numbers."""
    metrics = ("nonzeros", "accuracy", "auc")
    values = []
    for data, rows in results.items():
        for method, score in zip((SPARSIFIER, LASSO), published.TABLE2[data], strict=True):
            values += [
                Estimate(data, method, "", 1.0, "published", metric, None, float(getattr(score, metric)), None)
                for metric in metrics
            ]
        values += estimates(rows, metrics)
    return values
