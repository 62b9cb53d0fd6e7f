"""Writes what Transformers' processor of LLaVA-NeXT makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/anyres.py test/fixtures/images.json.gz test/fixtures/anyres.json

As tiles.py; the processor is the one that resizes with Pillow. Of an image there is also the number of its tokens.
"""

import base64
import gzip
import hashlib
import json
import sys

import numpy as np
from transformers import LlavaNextImageProcessorPil
from transformers.models.llava_next.processing_llava_next import LlavaNextProcessor

from tiles import read

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}
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
    assert (made == made.astype(np.uint8)).all()
    bytes_of = made.astype(np.uint8).transpose(0, 2, 3, 1).tobytes()
    return {
        "tiling": {
            "tileSide": side,
            "cells": side // PATCH,
            "canvases": [{"rows": rows, "columns": columns} for rows, columns in canvases],
            "resample": resample,
        },
        "tiles": len(made),
        "tokens": int(features_of(processor, image, side)),
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
