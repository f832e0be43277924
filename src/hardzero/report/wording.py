"""Numbers as people read them."""

from __future__ import annotations

import math
import re

_LARGEST_RATIO = 10_000
_MOST_DECIMALS = 8
_NARROW = "\N{NARROW NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 4) -> str:
    """Return a number with few digits: a true minus sign, thousands apart, powers of ten for the rest."""
    if value == 0 or not math.isfinite(value):
        return f"{value + 0.0:g}"  # without the sign of a negative zero
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    if -5 < power < 9:
        text = _without_zeros(f"{float(f'{value:.{digits}g}'):,.{max(digits - 1 - power, 0)}f}")
    else:
        text = f"{_without_zeros(mantissa)}{_NARROW}×{_NARROW}10{str(power).translate(_RAISED)}"
    return text.replace("-", _MINUS)


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float, digits: int = 4) -> str:
    """Return a number with its sign."""
    return ("+" if value > 0 else "") + number(value, digits)


def ratio(log_odds: float) -> str:
    """Return exp(log_odds), with enough digits to tell it from 1; beyond ten thousand figures mean nothing."""
    if log_odds > math.log(_LARGEST_RATIO):
        return f">{_LARGEST_RATIO:,}"
    if log_odds < -math.log(_LARGEST_RATIO):
        return f"<{1 / _LARGEST_RATIO:.4f}"
    away = abs(math.expm1(log_odds))
    if away == 0 or away >= 0.01:
        return number(math.exp(log_odds), 3)
    decimals = 1 - math.floor(math.log10(away))
    return f"{math.exp(log_odds):.{decimals}f}" if decimals <= _MOST_DECIMALS else "1.000000"


def times(log_odds: float) -> str:
    """Return an odds ratio as a factor: ×2, or >×10,000."""
    text = ratio(log_odds)
    return f"{text[0]}×{text[1:]}" if text[0] in "<>" else f"×{text}"


def factor(epsilon: float) -> str:
    """Return e^ε in words that stay short for large ε."""
    return number(math.exp(epsilon), 3) if epsilon < 10 else f"e^{number(epsilon)}"


def percent(share: float) -> str:
    """Return a share, never rounded to all or nothing."""
    if 0 < share < 0.001:
        return "<0.1 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    return f"{100 * share:.1f} %"


def one_in(probability: float) -> str:
    """Return a small probability as one in so many."""
    return f"1 in {number(1 / probability, 3)}"


def interval(lower: float, upper: float) -> str:
    """Return two bounds in words."""
    return f"{number(lower, 10)} to {number(upper, 10)}"


def ends(interval: tuple[float, float], *, as_odds: bool) -> str:
    """Return both ends of an interval, of log-odds as odds ratios; one where both are beyond what figures tell."""
    texts = [ratio(end) if as_odds else signed(end, 3) for end in interval]
    return " to ".join(dict.fromkeys(texts))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def humps(name: str) -> list[str]:
    """Return the words of a class name, between which a line may break."""
    return re.findall(r"[A-Z]*[^A-Z]+|[A-Z]+", name)


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text that is longer than that many letters."""
    return text if len(text) <= most else text[: most - 1] + "…"
