"""Writes what Transformers' processor of Gemma 3 makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/squares.py test/fixtures/images.json.gz test/fixtures/squares.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import numpy as np
from transformers import Gemma3ImageProcessorPil

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

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
    # A pixel's channels together, as in an image.
    pixels = as_bytes(made).transpose(1, 2, 0)
    return {
        "side": side,
        "resample": "bilinear" if index in PUBLISHED else resample,
        "sha256": digest(pixels),
    }


write_hashes(case_of)
