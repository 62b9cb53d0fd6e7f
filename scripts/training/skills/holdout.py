"""Exercises that are kept out of the corpus, so that a measurement can ask for them."""

import zlib


def held_out(*key: object) -> bool:
    """Whether the exercise with this key never appears in the corpus; one in forty does not."""
    return zlib.crc32(repr(key).encode()) % 40 == 0
