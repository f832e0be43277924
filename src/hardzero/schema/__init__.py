"""What is publicly known about a table, and how its cells become numbers by that."""

from .columns import OTHER, Boolean, Categorical, Feature, Ignored, Numeric, Ordered, Schema
from .fields import SchemaError
from .file import load_schema
from .target import NumericTarget, Target

__all__ = [
    "OTHER",
    "Boolean",
    "Categorical",
    "Feature",
    "Ignored",
    "Numeric",
    "NumericTarget",
    "Ordered",
    "Schema",
    "SchemaError",
    "Target",
    "load_schema",
]
