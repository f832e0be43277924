"""The model file: what a fit released, as JSON that can be read, checked and used without the training data."""

from .fields import ModelFileError
from .file import FittedModel

__all__ = ["FittedModel", "ModelFileError"]
