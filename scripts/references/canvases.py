"""Writes what Transformers' processor of InternVL makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/canvases.py test/fixtures/images.json.gz test/fixtures/canvases.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import numpy as np
from transformers import GotOcr2ImageProcessorPil

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

# Images that are cut as published models do.
PUBLISHED = {11, 57, 90}

random = np.random.default_rng(37)


def case_of(index, image):
    tiling = {
        "tileSide": int(random.integers(5, 40)),
        "minTiles": int(random.integers(1, 4)),
        "maxTiles": int(random.integers(3, 13)),
        "resample": "bicubic" if random.random() < 0.7 else str(random.choice(["bilinear", "lanczos"])),
    }
    if index in PUBLISHED:
        tiling = {"tileSide": 448, "minTiles": 1, "maxTiles": 12, "resample": "bicubic"}
    side = tiling["tileSide"]
    processor = GotOcr2ImageProcessorPil(
        size={"height": side, "width": side},
        min_patches=tiling["minTiles"],
        max_patches=tiling["maxTiles"],
        resample=RESAMPLE[tiling["resample"]],
        crop_to_patches=True,
        do_rescale=False,
        do_normalize=False,
    )
    tiles = np.stack(processor(image, return_tensors="np")["pixel_values"])
    pixels = as_bytes(tiles).transpose(0, 2, 3, 1)
    return {
        "tiling": tiling,
        "tiles": len(tiles),
        "sha256": digest(pixels),
    }


write_hashes(case_of)
