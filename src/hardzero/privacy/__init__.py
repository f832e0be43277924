"""The audited core: budgets, events, accounting, randomness and mechanisms.

It imports NumPy, ``scipy.special`` and the standard library, and nothing else of hardzero. Everything that
leaves the data leaves through :mod:`hardzero.privacy.mechanisms`.
"""
