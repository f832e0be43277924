"""From public bounds to whole numbers: rows clipped, scaled and rounded, dense, sparse or in blocks."""
