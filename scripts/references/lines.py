"""Writes what Transformers' processor of Pixtral makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/lines.py test/fixtures/images.json.gz test/fixtures/lines.json

As tiles.py; the processor is the one that resizes with Pillow. Null is for what it fails at: an image that would
be less than a pixel wide.
"""

import base64
import gzip
import hashlib
import json
import sys

import numpy as np
from transformers import PixtralImageProcessorPil

from tiles import read

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}
# Of the images, those that are prepared as published models do.
PUBLISHED = {11: (14, 2, 1540), 57: (16, 1, 1024), 90: (14, 2, 1540)}

random = np.random.default_rng(37)


def case_of(index, image):
    side, merge = int(random.integers(1, 9)), int(random.integers(1, 4))
    longest = int(random.integers(4, 120))
    resample = "bicubic" if random.random() < 0.7 else str(random.choice(["bilinear", "lanczos"]))
    if index in PUBLISHED:
        side, merge, longest = PUBLISHED[index]
    lining = {"patchSide": side, "merge": merge, "longestEdge": longest, "resample": resample}
    cell = side * merge
    processor = PixtralImageProcessorPil(
        size={"longest_edge": longest},
        patch_size=cell,
        resample=RESAMPLE[resample],
        do_rescale=False,
        do_normalize=False,
    )
    if min(image.size) * longest < max(image.size):
        return {"lining": lining, "rows": 0, "columns": 0, "sha256": None}
    (made,) = processor(image, return_tensors="np")["pixel_values"]
    assert (made == made.astype(np.uint8)).all()
    _channels, height, width = made.shape
    values = made.transpose(1, 2, 0).astype(np.uint8)
    cells = values.reshape(height // cell, merge, side, width // cell, merge, side, 3)
    bytes_of = cells.transpose(0, 3, 1, 4, 2, 5, 6).tobytes()
    return {
        "lining": lining,
        "rows": height // cell,
        "columns": width // cell,
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
