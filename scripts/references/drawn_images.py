"""What processors of images make of drawn ones, as hashes: shared by the scripts of processors."""

import base64
import gzip
import hashlib
import json
import sys
from collections.abc import Callable

import numpy as np

from tiles import read

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}


def as_bytes(values: np.ndarray) -> np.ndarray:
    """The same whole numbers."""
    assert (values == values.astype(np.uint8)).all()
    return values.astype(np.uint8)


def digest(values: np.ndarray) -> str:
    """Hash of bytes in their order."""
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


def write_hashes(case_of: Callable) -> None:
    """The command line: a file of images, and the one to write with `case_of` each index and image."""
    with gzip.open(sys.argv[1]) as packed:
        images = json.load(packed)["cases"]
    cases = [
        case_of(index, read(each["kind"], base64.b64decode(each["file"]))) for index, each in enumerate(images)
    ]
    with open(sys.argv[2], "w") as out:
        lines = ",\n".join(json.dumps(each) for each in cases)
        out.write(f"[\n{lines}\n]\n")
