"""Writes what Transformers' processor of LLaVA 1.5 makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/crops.py test/fixtures/images.json.gz test/fixtures/crops.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import base64
import gzip
import hashlib
import json
import sys

import numpy as np
from transformers import CLIPImageProcessorPil

from tiles import read

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}
# Of the images, those that are prepared as published models do.
PUBLISHED = {11: 336, 57: 336, 90: 336}

random = np.random.default_rng(36)


def case_of(index, image):
    edge = int(random.integers(1, 60))
    side = max(1, edge - int(random.integers(0, 12)))
    resample = "bicubic" if random.random() < 0.7 else str(random.choice(["bilinear", "lanczos"]))
    if index in PUBLISHED:
        edge = side = PUBLISHED[index]
        resample = "bicubic"
    processor = CLIPImageProcessorPil(
        size={"shortest_edge": edge},
        crop_size=side,
        resample=RESAMPLE[resample],
        do_rescale=False,
        do_normalize=False,
    )
    (made,) = processor(image, return_tensors="np")["pixel_values"]
    assert (made == made.astype(np.uint8)).all()
    bytes_of = made.astype(np.uint8).transpose(1, 2, 0).tobytes()
    return {
        "shortestEdge": edge,
        "side": side,
        "resample": resample,
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
