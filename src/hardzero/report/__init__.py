"""What a model says and what it promises, as one page that needs nothing else."""

from .page import ready, render_report, write_report

__all__ = ["ready", "render_report", "write_report"]
