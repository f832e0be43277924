"""What is publicly known about a table, and how its cells become numbers by that."""

from .columns import OTHER, Boolean, Categorical, Feature, Ignored, Numeric, Ordered, Schema, Target
from .fields import SchemaError
from .file import load_schema

__all__ = [
    "OTHER",
    "Boolean",
    "Categorical",
    "Feature",
    "Ignored",
    "Numeric",
    "Ordered",
    "Schema",
    "SchemaError",
    "Target",
    "load_schema",
]
