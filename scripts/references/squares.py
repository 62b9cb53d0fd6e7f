"""Writes what Transformers' processor of Gemma 3 makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/squares.py test/fixtures/images.json.gz test/fixtures/squares.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import base64
import gzip
import hashlib
import json
import sys

import numpy as np
from transformers import Gemma3ImageProcessorPil

from tiles import read

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}
# Of the images, those that are prepared as published models do.
PUBLISHED = {11: 896, 57: 896, 90: 896}

random = np.random.default_rng(35)


def case_of(index, image):
    side = PUBLISHED.get(index, int(random.integers(1, 80)))
    resample = "bilinear" if random.random() < 0.7 else str(random.choice(["bicubic", "lanczos"]))
    processor = Gemma3ImageProcessorPil(
        size={"height": side, "width": side},
        resample=RESAMPLE["bilinear" if index in PUBLISHED else resample],
        do_rescale=False,
        do_normalize=False,
    )
    (made,) = processor(image, return_tensors="np")["pixel_values"]
    assert (made == made.astype(np.uint8)).all()
    # A pixel's channels together, as in an image.
    bytes_of = made.astype(np.uint8).transpose(1, 2, 0).tobytes()
    return {
        "side": side,
        "resample": "bilinear" if index in PUBLISHED else resample,
        "sha256": hashlib.sha256(bytes_of).hexdigest()[:16],
    }


def main():
    with gzip.open(sys.argv[1]) as packed:
        images = json.load(packed)["cases"]
    cases = [
        case_of(index, read(each["kind"], base64.b64decode(each["file"]))) for index, each in enumerate(images)
    ]
    with open(sys.argv[2], "w") as out:
        lines = ",\n".join(json.dumps(each) for each in cases)
        out.write(f"[\n{lines}\n]\n")


main()
