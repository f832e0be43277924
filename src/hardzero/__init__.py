"""Sparse linear models under differential privacy, with zeros that stay zero."""
