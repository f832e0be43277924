"""Bounds of numbers that nobody knows beforehand: released from records, with noise and at a price."""
