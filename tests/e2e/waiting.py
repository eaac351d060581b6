"""Waiting for what comes by itself, without fixed sleeps."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Patience, not a measurement: a sanitizer build on a busy machine takes its time.
PATIENCE_S = 60.0
POLL_S = 0.02


def eventually(look: Callable[[], T], what: str, seconds: float = PATIENCE_S) -> T:
    """The first true value that `look` gives."""
    end = time.monotonic() + seconds
    while not (value := look()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(POLL_S)
    return value
