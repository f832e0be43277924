"""Where sums over rows are made when the rows are not here. Nothing in this folder adds noise or sees a generator."""
