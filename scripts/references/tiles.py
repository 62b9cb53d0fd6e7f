"""Writes what Transformers' processors of Idefics 3 and SmolVLM make of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/tiles.py test/fixtures/images.json.gz test/fixtures/tiles.json

The images are those of images.py, and so is the reason for that version of Pillow. The processors are those
that resize with Pillow: others resize by other filters, a few steps of 255 away.
"""

import base64
import gzip
import hashlib
import io
import json
import sys

import numpy as np
from PIL import Image, ImageOps
from transformers import Idefics3ImageProcessorPil, SmolVLMImageProcessorPil

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}
# Of the images, those that are cut as published models do.
PUBLISHED = {11: (2048, 512), 12: (1456, 364), 57: (1920, 384), 90: (6000, 2048)}

random = np.random.default_rng(33)


def read(kind, file):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if kind == "png 16 bits":
        # Pillow cuts 16 bits of gray off at 255; what is meant is the upper byte.
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    return image


def case_of(index, kind, file):
    tile_side = int(random.integers(5, 40))
    longest_edge = int(random.integers(tile_side // 2 + 1, 6 * tile_side))
    resample = "lanczos" if random.random() < 0.7 else str(random.choice(["bilinear", "bicubic"]))
    splits = bool(random.random() < 0.8)
    if index in PUBLISHED:
        longest_edge, tile_side = PUBLISHED[index]
    make = SmolVLMImageProcessorPil if index % 2 else Idefics3ImageProcessorPil
    processor = make(
        size={"longest_edge": longest_edge},
        max_image_size={"longest_edge": tile_side},
        resample=RESAMPLE[resample],
        do_image_splitting=splits,
        do_rescale=False,
        do_normalize=False,
    )
    made = processor(read(kind, file), return_row_col_info=True, return_tensors="np")
    tiles = made["pixel_values"][0]
    assert made["pixel_attention_mask"].all()
    assert (tiles == tiles.astype(np.uint8)).all()
    bytes_of = tiles.astype(np.uint8).transpose(0, 2, 3, 1).tobytes()
    return {
        "tiling": {"longestEdge": longest_edge, "tileSide": tile_side, "splits": splits, "resample": resample},
        "rows": int(made["rows"][0][0]),
        "columns": int(made["cols"][0][0]),
        "tiles": len(tiles),
        "sha256": hashlib.sha256(bytes_of).hexdigest()[:16],
    }


def main():
    with gzip.open(sys.argv[1]) as packed:
        images = json.load(packed)["cases"]
    cases = [case_of(index, each["kind"], base64.b64decode(each["file"])) for index, each in enumerate(images)]
    with open(sys.argv[2], "w") as out:
        lines = ",\n".join(json.dumps(each) for each in cases)
        out.write(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
