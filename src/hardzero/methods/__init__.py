"""Each method as a plan, made from public numbers, and a run of it."""
