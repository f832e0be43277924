"""The version, stated here alone: the build, `hardzero version` and model files read this line."""

__version__ = "0.1.0"
