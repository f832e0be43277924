"""The budget of a data set, kept where all its users share it: reserved before a fit, never given back."""
