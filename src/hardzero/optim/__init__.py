"""Losses, feasible sets and the loops that minimise, with or without noise."""
