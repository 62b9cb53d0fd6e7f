"""Writes what Transformers' processor of InternVL makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/canvases.py test/fixtures/images.json.gz test/fixtures/canvases.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import base64
import gzip
import hashlib
import json
import sys

import numpy as np
from transformers import GotOcr2ImageProcessorPil

from tiles import read

RESAMPLE = {"lanczos": 1, "bilinear": 2, "bicubic": 3}
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
    assert (tiles == tiles.astype(np.uint8)).all()
    bytes_of = tiles.astype(np.uint8).transpose(0, 2, 3, 1).tobytes()
    return {
        "tiling": tiling,
        "tiles": len(tiles),
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
