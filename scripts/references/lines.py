"""Writes what Transformers' processor of Pixtral makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/lines.py test/fixtures/images.json.gz test/fixtures/lines.json

As tiles.py; the processor is the one that resizes with Pillow. Null is for what it fails at: an image that would
be less than a pixel wide.
"""

import numpy as np
from transformers import PixtralImageProcessorPil

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

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
    _channels, height, width = made.shape
    values = as_bytes(made).transpose(1, 2, 0)
    cells = values.reshape(height // cell, merge, side, width // cell, merge, side, 3)
    pixels = cells.transpose(0, 3, 1, 4, 2, 5, 6)
    return {
        "lining": lining,
        "rows": height // cell,
        "columns": width // cell,
        "sha256": digest(pixels),
    }


write_hashes(case_of)
