"""Every constant of docs/proofs, checked by numbers: never exceeded, and nearly reached where that is claimed."""
