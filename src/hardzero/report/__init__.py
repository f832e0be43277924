"""What a model says and what it promises, as one page that needs nothing else."""

from .page import render_report, write_report

__all__ = ["render_report", "write_report"]
