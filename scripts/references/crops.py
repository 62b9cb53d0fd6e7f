"""Writes what Transformers' processor of LLaVA 1.5 makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/crops.py test/fixtures/images.json.gz test/fixtures/crops.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import numpy as np
from transformers import CLIPImageProcessorPil

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

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
    pixels = as_bytes(made).transpose(1, 2, 0)
    return {
        "shortestEdge": edge,
        "side": side,
        "resample": resample,
        "sha256": digest(pixels),
    }


write_hashes(case_of)
