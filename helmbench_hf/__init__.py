"""HELMbench: mental-health safety evaluation of language models, run locally."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helmbench_hf.dataset.load import load_cases
    from helmbench_hf.evaluation import evaluate

__all__ = ["__version__", "evaluate", "load_cases"]
__version__ = "0.2.0"
_WHERE = {"evaluate": "helmbench_hf.evaluation", "load_cases": "helmbench_hf.dataset.load"}


def __getattr__(name: str) -> Any:
    """Import what is asked for, so that `import helmbench_hf` stays quick."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
