"""The methods as scikit-learn estimators: validate, plan, run, present. No mathematics."""
