"""Writes what Transformers' processor of Qwen-VL makes of drawn images, as hashes.

    pip install pillow==12.3.0 numpy torch transformers==5.24.0
    python3 scripts/references/patches.py test/fixtures/images.json.gz test/fixtures/patches.json

As tiles.py; the processor is the one that resizes with Pillow.
"""

import numpy as np
from transformers import Qwen2VLImageProcessorPil

from drawn_images import RESAMPLE, as_bytes, digest, write_hashes

# Of the images, those that are prepared as published models do.
PUBLISHED = {11: (14, 2, 3136, 12845056), 57: (14, 2, 3136, 1003520), 90: (16, 2, 65536, 16777216)}

random = np.random.default_rng(34)


def case_of(index, image):
    side, merge = int(random.integers(1, 9)), int(random.integers(1, 4))
    least = int(random.integers(1, 3000))
    most = least + int(random.integers(0, 6000))
    resample = "bicubic" if random.random() < 0.7 else str(random.choice(["bilinear", "lanczos"]))
    if index in PUBLISHED:
        side, merge, least, most = PUBLISHED[index]
    patching = {"patchSide": side, "merge": merge, "minPixels": least, "maxPixels": most, "resample": resample}
    processor = Qwen2VLImageProcessorPil(
        size={"shortest_edge": least, "longest_edge": most},
        patch_size=side,
        merge_size=merge,
        temporal_patch_size=2,
        resample=RESAMPLE[resample],
        do_rescale=False,
        do_normalize=False,
    )
    made = processor(image, return_tensors="np")
    values = made["pixel_values"].reshape(-1, 3, 2, side, side)
    assert (values[:, :, 0] == values[:, :, 1]).all()
    # A pixel's channels together, as in an image.
    pixels = as_bytes(values[:, :, 0]).transpose(0, 2, 3, 1)
    _frames, height, width = made["image_grid_thw"][0]
    return {
        "patching": patching,
        "rows": int(height) // merge,
        "columns": int(width) // merge,
        "sha256": digest(pixels),
    }


write_hashes(case_of)
