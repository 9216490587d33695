"""A port for a program that cannot be told to take any free one."""

from __future__ import annotations

import random
import socket

BELOW = range(21_000, 32_000)
"""Ports that no system gives to those who ask for any: Linux starts at 32768, macOS and Windows at 49152."""


def free_port() -> int:
    """A free port of the loopback, which nobody is given between this call and the program's start."""
    for port in random.SystemRandom().sample(BELOW, 50):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no port of {BELOW.start} to {BELOW.stop} is free")
