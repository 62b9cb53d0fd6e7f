"""Writes drawn images of all kinds, and what Pillow and Transformers make of them.

    pip install pillow==12.3.0 numpy 'transformers<5'
    python3 scripts/references/images.py test/fixtures/images.json.gz

Up to version 12 Pillow resizes along rows first, as models have seen it in their training; 13 begins with
columns for some shapes, and differs by a step or two then.
"""

import base64
import gzip
import io
import json
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageOps
from transformers import CLIPImageProcessor, ViTImageProcessor

NUM_IMAGES = 200
RESAMPLE = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]

random = np.random.default_rng(35)


def pick(options):
    return options[int(random.integers(len(options)))]


def draw():
    """Slopes of color, with a few sharp shapes over them."""
    width, height = (int(2 ** random.uniform(0, 7)) for _ in range(2))
    across, down = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    slopes = [np.abs(random.uniform(-255, 255) * across + random.uniform(-255, 255) * down) for _ in "RGB"]
    image = Image.fromarray(np.stack(slopes, -1).clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    for _ in range(int(random.integers(4))):
        x, y = random.uniform(0, width), random.uniform(0, height)
        reach = random.uniform(0.5, max(width, height))
        shape = pick([pen.ellipse, pen.rectangle])
        shape([x - reach, y - reach, x + reach, y + reach], fill=tuple(int(c) for c in random.integers(0, 256, 3)))
    return image


def with_alpha(image):
    image = image.convert("RGBA")
    image.putalpha(Image.linear_gradient("L").resize(image.size))
    return image


def sixteen_bits(image):
    """Pillow cuts 16 bits of gray off at 255; what is meant is the upper byte."""
    values = np.asarray(image.convert("L")).astype(np.uint16) * 256 + 77
    return Image.fromarray(values)


def palette_with_transparency(image):
    image = image.convert("P", palette=Image.Palette.ADAPTIVE, colors=16)
    image.info["transparency"] = 3
    return image


KINDS = {
    "png": ("PNG", lambda image: image, {}),
    "png gray": ("PNG", lambda image: image.convert("L"), {}),
    "png one bit": ("PNG", lambda image: image.convert("1"), {}),
    "png palette": ("PNG", lambda image: image.convert("P"), {}),
    "png palette, transparent": ("PNG", palette_with_transparency, {}),
    "png alpha": ("PNG", with_alpha, {}),
    "png gray alpha": ("PNG", lambda image: with_alpha(image).convert("LA"), {}),
    "png 16 bits": ("PNG", sixteen_bits, {}),
    "jpeg": ("JPEG", lambda image: image, {"quality": 75}),
    "jpeg 4:2:0": ("JPEG", lambda image: image, {"quality": 60, "subsampling": 2}),
    "jpeg 4:2:2": ("JPEG", lambda image: image, {"quality": 85, "subsampling": 1}),
    "jpeg progressive": ("JPEG", lambda image: image, {"quality": 80, "progressive": True}),
    "jpeg gray": ("JPEG", lambda image: image.convert("L"), {}),
    "jpeg cmyk": ("JPEG", lambda image: image.convert("CMYK"), {}),
    "webp": ("WEBP", lambda image: image, {"quality": 70}),
    "webp alpha": ("WEBP", with_alpha, {"lossless": True}),
    "webp animated": ("WEBP", lambda image: image, {"save_all": True, "append_images": [Image.new("RGB", (3, 3))], "lossless": True}),
    "gif": ("GIF", lambda image: image.convert("P"), {}),
    "gif animated": ("GIF", lambda image: image.convert("P"), {"save_all": True, "append_images": [Image.new("P", (3, 3))]}),
}
CAN_BE_TURNED = ("PNG", "JPEG", "WEBP")


def file_of(kind, image):
    form, convert, options = KINDS[kind]
    converted = convert(image)
    options = dict(options)
    if "append_images" in options:
        options["append_images"] = [each.resize(image.size) for each in options["append_images"]]
    turned = form in CAN_BE_TURNED and random.random() < 0.4
    if turned:
        exif = Image.Exif()
        exif[0x0112] = int(random.integers(1, 9))
        options["exif"] = exif
    out = io.BytesIO()
    converted.save(out, form, **options)
    return out.getvalue()


def read(kind, file):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if kind == "png 16 bits":
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")


def center_crop(image, width, height):
    """As torchvision's CenterCrop."""
    if image.width < width or image.height < height:
        left = (width - image.width) // 2 if image.width < width else 0
        top = (height - image.height) // 2 if image.height < height else 0
        around = Image.new("RGB", (max(width, image.width), max(height, image.height)))
        around.paste(image, (left, top))
        image = around
    top, left = round((image.height - height) / 2), round((image.width - width) / 2)
    return image.crop((left, top, left + width, top + height))


def resized(image, to, resample):
    if isinstance(to, dict):
        return image.resize((to["width"], to["height"]), resample)
    # As torchvision's Resize and Transformers' get_resize_output_image_size.
    short, long = sorted(image.size)
    new = (to, int(to * long / short))
    return image.resize(new if image.width <= image.height else new[::-1], resample)


def encode(data):
    return base64.b64encode(data).decode()


def case_of(index):
    kind = list(KINDS)[index % len(KINDS)]
    file = file_of(kind, draw())
    image = read(kind, file)
    shortest = bool(random.random() < 0.5) and max(image.size) <= 4 * min(image.size)
    to = int(random.integers(5, 24)) if shortest else {"width": int(random.integers(1, 32)), "height": int(random.integers(1, 32))}
    resample = pick(list(RESAMPLE))
    crop = {"width": int(random.integers(4, 28)), "height": int(random.integers(4, 28))} if random.random() < 0.5 else None
    made = resized(image, to, RESAMPLE[resample])
    if crop is not None:
        made = center_crop(made, **crop)
    return {
        "kind": kind,
        "file": encode(file),
        "resize": to,
        "resample": resample,
        "crop": crop,
        "width": made.width,
        "height": made.height,
        "pixels": encode(made.tobytes()),
    }


def processed(index):
    """All steps, by processors of Transformers."""
    image = draw().resize((40, 30 + index))
    out = io.BytesIO()
    image.save(out, "PNG")
    if index % 2 == 0:
        processor = ViTImageProcessor(size={"height": 9, "width": 7}, resample=2, image_mean=[0.5] * 3, image_std=[0.5] * 3)
        steps = {"resize": {"height": 9, "width": 7}, "resample": "bilinear", "crop": None, "mean": [0.5] * 3, "std": [0.5] * 3}
    else:
        crop = {"height": 8, "width": 6}
        processor = CLIPImageProcessor(size={"shortest_edge": 10}, resample=3, crop_size=crop, image_mean=MEAN, image_std=STD)
        steps = {"resize": 10, "resample": "bicubic", "crop": crop, "mean": MEAN, "std": STD}
    [numbers] = processor(image, return_tensors="np")["pixel_values"]
    return {"file": encode(out.getvalue()), **steps, "numbers": encode(numbers.astype("<f4").tobytes())}


cases = {"cases": [case_of(index) for index in range(NUM_IMAGES)], "processed": [processed(index) for index in range(0, 8)]}
with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as out:
    out.write(json.dumps(cases).encode())
