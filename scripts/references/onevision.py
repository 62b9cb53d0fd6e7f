"""Writes what Transformers' processor of LLaVA-OneVision makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/onevision.py test/fixtures/images.json.gz test/fixtures/onevision.json

As anyres.py; of an image there is also the hash of the square that it is among others.
"""

import numpy as np
from transformers import LlavaOnevisionImageProcessorPil
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

# Images that are cut as published models do.
PUBLISHED = {11, 57, 90}
PATCH = 4

random = np.random.default_rng(39)


def drawn_tiling():
    along = int(random.integers(1, 7))
    resample = "bicubic" if random.random() < 0.7 else str(random.choice(["bilinear", "lanczos"]))
    color = [round(float(random.random()), 3) for _ in range(3)]
    return PATCH * int(random.integers(1, 10)), along, resample, int(random.integers(1, 10)), color


def features_of(processor, image, side, most):
    """The processor's own count, which needs no tokenizer."""
    whole = LlavaOnevisionProcessor.__new__(LlavaOnevisionProcessor)
    whole.image_processor, whole.num_image_tokens = processor, (side // PATCH) ** 2
    whole.vision_aspect_ratio = f"anyres_max_{most}"
    return whole._get_number_of_features(image.height, image.width, side, side)


def case_of(index, image):
    side, along, resample, most, color = drawn_tiling()
    if index in PUBLISHED:
        side, along, resample, most, color = 384, 6, "bicubic", 9, [0.5, 0.5, 0.5]
    sides = [side * tiles for tiles in range(1, along + 1)]
    processor = LlavaOnevisionImageProcessorPil(
        size={"height": side, "width": side},
        image_grid_pinpoints=[[height, width] for height in sides for width in sides],
        resample=RESAMPLE[resample],
        image_mean=color,
        do_rescale=False,
        do_normalize=False,
    )
    whole, *tiles = processor(image, return_tensors="np")["pixel_values"][0]
    made = np.stack([*tiles, whole])
    (other,) = processor([[image, image]], return_tensors="np")["pixel_values"][0]
    return {
        "tiling": {
            "tileSide": side,
            "cells": side // PATCH,
            "along": along,
            "resample": resample,
            "maxTiles": most,
            "margins": [int(each * 255) for each in color],
        },
        "tiles": len(made),
        "tokens": int(features_of(processor, image, side, most)),
        "sha256": digest(as_bytes(made).transpose(0, 2, 3, 1)),
        "amongOthers": digest(as_bytes(other).transpose(1, 2, 0)),
    }


write_hashes(case_of)
