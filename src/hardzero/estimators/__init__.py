"""The estimators: thin scikit-learn classes that validate, plan, run and present."""
