"""Writes what Transformers' processor of LLaVA-NeXT makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/anyres.py test/fixtures/images.json.gz test/fixtures/anyres.json

As tiles.py; the processor is the one that resizes with Pillow. Of an image there is also the number of its tokens.
"""

import numpy as np
from transformers import LlavaNextImageProcessorPil
from transformers.models.llava_next.processing_llava_next import LlavaNextProcessor

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

# Images that are cut as published models do.
PUBLISHED = {11, 57, 90}
PATCH = 4

random = np.random.default_rng(38)


def drawn_tiling():
    canvases = [(int(random.integers(1, 5)), int(random.integers(1, 5))) for _ in range(random.integers(1, 7))]
    resample = "bicubic" if random.random() < 0.7 else str(random.choice(["bilinear", "lanczos"]))
    return PATCH * int(random.integers(1, 10)), canvases, resample


def features_of(processor, image, side):
    """The processor's own count, which needs no tokenizer."""
    whole = LlavaNextProcessor.__new__(LlavaNextProcessor)
    whole.image_processor, whole.patch_size, whole.num_additional_image_tokens = processor, PATCH, 0
    return whole._get_number_of_features(image.height, image.width, side, side)


def case_of(index, image):
    side, canvases, resample = drawn_tiling()
    if index in PUBLISHED:
        side, canvases, resample = 336, [(1, 2), (2, 1), (2, 2), (3, 1), (1, 3)], "bicubic"
    processor = LlavaNextImageProcessorPil(
        size={"shortest_edge": side},
        crop_size={"height": side, "width": side},
        image_grid_pinpoints=[[rows * side, columns * side] for rows, columns in canvases],
        resample=RESAMPLE[resample],
        do_rescale=False,
        do_normalize=False,
    )
    whole, *tiles = processor(image, return_tensors="np")["pixel_values"][0]
    made = np.stack([*tiles, whole])
    pixels = as_bytes(made).transpose(0, 2, 3, 1)
    return {
        "tiling": {
            "tileSide": side,
            "cells": side // PATCH,
            "canvases": [{"rows": rows, "columns": columns} for rows, columns in canvases],
            "resample": resample,
        },
        "tiles": len(made),
        "tokens": int(features_of(processor, image, side)),
        "sha256": digest(pixels),
    }


write_hashes(case_of)
