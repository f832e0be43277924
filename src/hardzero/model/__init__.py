"""What a fit released: the privacy statement, the model file, and the same as ONNX.

The file is JSON that can be read, checked and used without the training data.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fields import ModelFileError
    from .file import FittedModel

__all__ = ["FittedModel", "ModelFileError"]

if not TYPE_CHECKING:  # loaded when first used: a message to a terminal needs neither

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import fields, file  # noqa: PLC0415

        globals().update(FittedModel=file.FittedModel, ModelFileError=fields.ModelFileError)
        return globals()[name]
