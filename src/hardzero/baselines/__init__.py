"""Other people's sparse private logistic regressions, for comparison, each with a guarantee that is proved here."""
