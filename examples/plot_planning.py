"""Choose ε before a record is read

What would ε = 0.5 give me, and what would 2? `plan` rehearses the fit on made-up records of the same size, so that
asking costs no privacy.
"""

# %%
# A table of 3,000 people and 20 numbers is planned for. State what you know from elsewhere, never from the records:
# here, that models of such tables are right four times out of five.

import matplotlib.pyplot as plt

from hardzero import Supposed, plan

supposed = Supposed(accuracy=0.8)
epsilons = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0]
forecasts = [plan(3_000, 20, epsilon=epsilon, supposed=supposed, repeats=8) for epsilon in epsilons]
print(forecasts[3])

# %%
# Eight rehearsals give a rough answer in a second; a decision deserves the default of 320.
#
# ## What ε buys
# On the left how often a new person's answer is predicted. On the right the smallest effect that is kept and called
# reliable nine times out of ten, as an odds ratio. Where a curve has no point, no effect up to an odds ratio of 30
# is.

figure, (left, right) = plt.subplots(1, 2)
left.plot(epsilons, [100 * forecast.accuracy.private for forecast in forecasts], "o-", label="planned fit")
left.axhline(100 * forecasts[0].accuracy.plain, color="C1", linestyle="--", label="without privacy")
left.axhline(100 * forecasts[0].accuracy.guessing, color="C4", linestyle=":", label="guessing")
left.set(title="Expected accuracy in percent", xscale="log", xlabel="ε", ylim=(45, 85))
left.legend()

number, *_ = zip(*(forecast.effects for forecast in forecasts), strict=True)
frequent = [forecast.effects[1] for forecast in forecasts]
for effects, name, line in ((number, "a number", "o-"), (frequent, "a category of 20 %", "s-")):
    found = [(e, effect.odds_ratio) for e, effect in zip(epsilons, effects, strict=True) if effect.odds_ratio]
    right.plot(*zip(*found, strict=True), line, label=name)
right.set(title="Smallest odds ratio found", xscale="log", yscale="log", xlabel="ε", xlim=left.get_xlim())
right.set_yticks([2, 5, 10, 20], ["2", "5", "10", "20"])
right.minorticks_off()
right.legend()
plt.show()

# %%
# Predictions are cheap, explanations are not. A small budget already predicts nearly as well as a model without
# privacy, because many weak hints add up. To say *which* feature matters takes a larger one, or more rows. More:
# [planning a fit](../planning.md).
