"""Draws what the vision model is to read: shapes, numbers and words, in sizes, places and colors by chance."""

import colorsys
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

# Pixels along each side of what the model sees, which images have once, twice or three times.
SIDE = 64
ZOOMS = (1, 2, 3)
ZOOM_SHARES = (0.6, 0.3, 0.1)

SHAPES = ("circle", "square", "triangle", "star")
# Hue, saturation and value, and how far each may be from it.
COLORS = {
    "red": ((0.0, 0.9, 0.88), (0.02, 0.1, 0.12)),
    "orange": ((0.083, 0.97, 1.0), (0.012, 0.05, 0.05)),
    "yellow": ((0.155, 0.9, 0.97), (0.015, 0.12, 0.06)),
    "green": ((0.35, 0.85, 0.65), (0.05, 0.15, 0.17)),
    "blue": ((0.61, 0.88, 0.85), (0.04, 0.12, 0.15)),
    "purple": ((0.78, 0.75, 0.7), (0.025, 0.2, 0.17)),
    "black": ((0.0, 0.0, 0.06), (0.0, 0.0, 0.06)),
    "white": ((0.0, 0.0, 0.97), (0.0, 0.0, 0.03)),
}
# Characters of numbers and words.
CHARACTERS = "0123456789abcdegnopstu"
# Classes of a patch: nothing, a character, a shape in a color.
CLASSES = 1 + len(CHARACTERS) + len(SHAPES) * len(COLORS)
MAX_PLACES = 5
# A class of what is not to be judged.
IGNORED = -100
# Sizes of the letters of pages, in pixels, from and to: small ones as often as large ones.
PAGE_SIZES = ((18, 24), (21, 28), (25, 40))

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"
# Between a drawing and what is behind it, as a distance of their colors.
MIN_CONTRAST = 130
NOISE = np.random.default_rng(0).normal(size=1 << 20).astype(np.float32)


@dataclass(frozen=True)
class Mark:
    """A class at a box of left, top, right and bottom, in pixels of what the model sees."""

    box: tuple[float, float, float, float]
    label: int


@dataclass(frozen=True)
class Drawing:
    image: Image.Image
    # A number or a word; empty if there are shapes.
    text: str
    # Colors and kinds, from left to right.
    shapes: tuple[tuple[str, str], ...]
    # From left to right, but on pages.
    marks: tuple[Mark, ...]


def draw_text(rng: np.random.Generator, text: str) -> Drawing:
    """A number or a word in one line."""
    zoom = _zoom(rng)
    # Of 100 pixels, to know how wide it is.
    probe = _font(100)
    _, top, _, bottom = probe.getbbox(text)
    largest = min(
        0.94 * SIDE / (probe.getlength(text) / 100), 0.9 * SIDE / ((bottom - top) / 100), 44
    )
    size = largest * rng.uniform(0.7, 1)
    font = _font(round(size * zoom))
    left, top, right, bottom = font.getbbox(text)
    canvas = SIDE * zoom
    x = rng.uniform(0.02, 0.98) * max(0, canvas - (right - left)) - left
    y = rng.uniform(0.02, 0.98) * max(0, canvas - (bottom - top)) - top
    back, front = _two_colors(rng)
    image = _background(rng, canvas, back)
    ImageDraw.Draw(image).text((x, y), text, font=font, fill=front)
    marks = tuple(
        Mark(
            ((x + start) / zoom, (y + top) / zoom, (x + end) / zoom, (y + bottom) / zoom),
            1 + CHARACTERS.index(character),
        )
        for character, start, end in _across(font, text)
    )
    return Drawing(_noisy(rng, image), text, (), marks)


def draw_page(rng: np.random.Generator) -> Drawing:
    """Lines of letters and digits by chance, which fill the image: nobody is asked about it."""
    zoom = _zoom(rng)
    canvas = SIDE * zoom
    back, _ = _two_colors(rng)
    image = _background(rng, canvas, back)
    draw = ImageDraw.Draw(image)
    marks = []
    down = rng.uniform(-4, 4) * zoom
    while down < 0.85 * canvas:
        least, most = PAGE_SIZES[int(rng.integers(len(PAGE_SIZES)))]
        font = _font(round(rng.uniform(least, most) * zoom))
        front = _apart(rng, [back])
        text = "".join(CHARACTERS[at] for at in rng.integers(len(CHARACTERS), size=6))
        left = rng.uniform(-4, 8) * zoom
        _, top, _, bottom = font.getbbox("bdpq0")
        draw.text((left, down - top), text, font=font, fill=front)
        for character, start, end in _across(font, text):
            box = ((left + start) / zoom, down / zoom, (left + end) / zoom, (down + bottom - top) / zoom)
            # One that is cut off may be any.
            cut = box[2] > SIDE + 1 or box[3] > SIDE + 2 or box[0] < -2 or box[1] < -2
            marks.append(Mark(box, IGNORED if cut else 1 + CHARACTERS.index(character)))
        down += bottom - top + rng.uniform(1, 5) * zoom
    return Drawing(_noisy(rng, image), "", (), tuple(marks))


def draw_shapes(rng: np.random.Generator, count: int, same: bool) -> Drawing:
    """So many shapes beside each other, all of one kind and color or of two."""
    zoom = _zoom(rng)
    places = _places(rng, count)
    names = list(COLORS)
    first = (str(rng.choice(names)), str(rng.choice(SHAPES)))
    kinds = [first] * count
    while not same and kinds[1] == first:
        kinds[1] = (str(rng.choice(names)), str(rng.choice(SHAPES)))
    fills = {color: _color(rng, color) for color, _ in kinds}
    back = _apart(rng, list(fills.values()))
    image = _background(rng, SIDE * zoom, back)
    draw = ImageDraw.Draw(image)
    marks = []
    for (color, shape), (x, y, radius) in zip(kinds, places):
        points = _outline(rng, shape, x * zoom, y * zoom, radius * zoom)
        draw.polygon(points, fill=fills[color])
        label = 1 + len(CHARACTERS) + SHAPES.index(shape) * len(COLORS) + names.index(color)
        marks.append(Mark((x - radius, y - radius, x + radius, y + radius), label))
    return Drawing(_noisy(rng, image), "", tuple(kinds), tuple(marks))


def patch_classes(drawing: Drawing, patch: int) -> np.ndarray:
    """The middle of each patch, row by row: its class, and its place from the left from 1 on, or zeros."""
    count = SIDE // patch
    ordered = drawing.text or drawing.shapes
    middles = (np.arange(count) + 0.5) * patch
    classes = np.zeros((count, count, 2), dtype=np.int64)
    for place, mark in enumerate(drawing.marks):
        left, top, right, bottom = mark.box
        rows = (middles >= top) & (middles < bottom)
        columns = (middles >= left) & (middles < right)
        classes[np.outer(rows, columns)] = (mark.label, place + 1 if ordered else IGNORED)
    return classes.reshape(-1, 2)


@lru_cache(maxsize=4096)
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(FONT, size)


def _across(font: ImageFont.FreeTypeFont, text: str) -> Iterator[tuple[str, float, float]]:
    """Each character, and from where to where it goes."""
    edges = [font.getlength(text[:count]) for count in range(len(text) + 1)]
    return zip(text, edges, edges[1:])


def _zoom(rng: np.random.Generator) -> int:
    return int(rng.choice(ZOOMS, p=ZOOM_SHARES))


def _places(rng: np.random.Generator, count: int) -> list[tuple[float, float, float]]:
    """Middles and radii of shapes that do not touch, from left to right, two of them at a distance across."""
    largest = {1: 30, 2: 16, 3: 14, 4: 13, 5: 11}[count]
    while True:
        radius = rng.uniform(0.55, 1) * largest
        found: list[tuple[float, float, float]] = []
        for _ in range(40):
            x, y = rng.uniform(radius + 1, SIDE - radius - 1, size=2)
            apart = all(math.hypot(x - a, y - b) > 2 * radius + 3 for a, b, _ in found)
            across = count != 2 or all(abs(x - a) > SIDE / 4 for a, _, _ in found)
            if apart and across:
                found.append((x, y, radius))
            if len(found) == count:
                return sorted(found)


def _outline(
    rng: np.random.Generator, shape: str, x: float, y: float, radius: float
) -> list[tuple[float, float]]:
    turn = rng.uniform(-0.2, 0.2)
    if shape == "circle":
        angles, radii = np.linspace(0, 2 * math.pi, 48, endpoint=False), np.full(48, 0.92)
    elif shape == "square":
        angles, radii = math.pi / 4 + np.arange(4) * math.pi / 2, np.ones(4)
    elif shape == "triangle":
        angles, radii = -math.pi / 2 + np.arange(3) * 2 * math.pi / 3, np.ones(3)
    else:
        angles, radii = -math.pi / 2 + np.arange(10) * math.pi / 5, np.tile([1, 0.42], 5)
    xs = x + radius * radii * np.cos(angles + turn)
    ys = y + radius * radii * np.sin(angles + turn)
    return list(zip(xs.tolist(), ys.tolist()))


def _color(rng: np.random.Generator, name: str) -> tuple[int, int, int]:
    middle, spread = COLORS[name]
    hue, saturation, value = np.array(middle) + rng.uniform(-1, 1, size=3) * spread
    parts = colorsys.hsv_to_rgb(hue % 1, min(1, max(0, saturation)), min(1, max(0, value)))
    red, green, blue = (round(part * 255) for part in parts)
    return red, green, blue


def _any_color(rng: np.random.Generator) -> tuple[int, int, int]:
    """Often white or gray."""
    drawn = rng.random()
    if drawn < 0.35:
        return (255, 255, 255)
    if drawn < 0.45:
        gray = int(rng.integers(256))
        return (gray, gray, gray)
    red, green, blue = rng.integers(256, size=3).tolist()
    return red, green, blue


def _apart(
    rng: np.random.Generator, others: list[tuple[int, int, int]]
) -> tuple[int, int, int]:
    """A color that all others are seen on."""
    while True:
        color = _any_color(rng)
        if all(math.dist(color, other) > MIN_CONTRAST for other in others):
            return color


def _two_colors(rng: np.random.Generator) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    if rng.random() < 0.3:
        return (255, 255, 255), (0, 0, 0)
    back = _any_color(rng)
    front = _apart(rng, [back])
    darker_front = sum(front) < sum(back)
    return (back, front) if darker_front or rng.random() < 0.3 else (front, back)


def _background(
    rng: np.random.Generator, side: int, color: tuple[int, int, int]
) -> Image.Image:
    """One color, or one that changes a little from side to side."""
    if rng.random() < 0.6:
        return Image.new("RGB", (side, side), color)
    slope = rng.uniform(-22, 22, size=(2, 1, 1, 3))
    across = np.linspace(-1, 1, side).reshape(1, side, 1)
    down = across.reshape(side, 1, 1)
    pixels = np.array(color) + slope[0] * across + slope[1] * down
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _noisy(rng: np.random.Generator, image: Image.Image) -> Image.Image:
    if rng.random() < 0.5:
        return image
    pixels = np.asarray(image, dtype=np.float32)
    start = int(rng.integers(NOISE.size - pixels.size))
    noise = NOISE[start : start + pixels.size].reshape(pixels.shape) * rng.uniform(2, 14)
    return Image.fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8))
