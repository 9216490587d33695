"""Hundreds of tests read the same tiny tree: each text of it is parsed once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from helmbench_hf.content import strict_yaml


@pytest.fixture(scope="session", autouse=True)
def _parse_each_text_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_yaml, "_parse", lru_cache(maxsize=None)(strict_yaml._parse))
        yield
