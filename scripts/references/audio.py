"""Writes sounds as files, with what they decode to, and what Transformers makes of sounds and of tokens of Whisper.

    pip install numpy scipy soundfile torch transformers==5.24.0
    python3 scripts/references/audio.py test/fixtures/audio

`files.json.gz` has files that libsndfile wrote, and their samples by libsndfile (libFLAC, libvorbis, libopus,
mpg123), mixed to one channel and resampled to 16 kHz by scipy. `features.json` has log-mel features of sounds
that the tests draw again, `whisper.json` segments of drawn tokens.
"""

import base64
import gzip
import io
import json
import math
import sys

import numpy as np
import scipy.signal
import soundfile
import torch
from transformers import WhisperFeatureExtractor
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin

TARGET = 16000
random = np.random.default_rng(41)

# name, format, subtype, rate, channels, seconds
FILES = [
    ("wav-u8", "WAV", "PCM_U8", 8000, 1, 0.1),
    ("wav-16", "WAV", "PCM_16", 11025, 2, 0.1),
    ("wav-24", "WAV", "PCM_24", 8000, 2, 0.1),
    ("wav-32", "WAV", "PCM_32", 16000, 1, 0.1),
    ("wav-float", "WAV", "FLOAT", 22050, 1, 0.1),
    ("wav-double", "WAV", "DOUBLE", 8000, 1, 0.1),
    ("wav-alaw", "WAV", "ALAW", 8000, 1, 0.1),
    ("wav-ulaw", "WAV", "ULAW", 8000, 2, 0.1),
    ("wavex-16", "WAVEX", "PCM_16", 44100, 5, 0.05),
    ("wavex-24", "WAVEX", "PCM_24", 48000, 1, 0.1),
    ("rf64-16", "RF64", "PCM_16", 16000, 1, 0.1),
    ("wav-odd", "WAV", "PCM_16", 12347, 1, 0.2),
    ("flac-16", "FLAC", "PCM_16", 44100, 2, 0.3),
    ("flac-24", "FLAC", "PCM_24", 96000, 1, 0.2),
    ("flac-8", "FLAC", "PCM_S8", 16000, 1, 0.5),
    ("vorbis", "OGG", "VORBIS", 44100, 2, 0.5),
    ("vorbis-mono", "OGG", "VORBIS", 16000, 1, 0.5),
    ("opus", "OGG", "OPUS", 48000, 2, 0.5),
    ("opus-mono", "OGG", "OPUS", 16000, 1, 0.5),
    ("mp3", "MP3", "MPEG_LAYER_III", 44100, 2, 0.5),
    ("mp3-low", "MP3", "MPEG_LAYER_III", 22050, 1, 0.5),
]


def drawn(rate, channels, seconds):
    """Tones below 3 kHz, so that all rates can have them; each channel has its own."""
    time = np.arange(int(rate * seconds)) / rate
    out = np.zeros((len(time), channels))
    for channel in range(channels):
        for _ in range(4):
            hz, phase = random.uniform(80, 3000), random.uniform(0, 2 * math.pi)
            out[:, channel] += random.uniform(0.05, 0.15) * np.sin(2 * math.pi * hz * time + phase)
    # Begins and ends softly: lossy codecs hear a step otherwise.
    fade = np.minimum(1, np.minimum(time, time[::-1]) / 0.02)
    return out * fade[:, None]


def resampled(mono, rate):
    if rate == TARGET:
        return mono
    divisor = math.gcd(rate, TARGET)
    up, down = TARGET // divisor, rate // divisor
    widest = max(up, down)
    taps = scipy.signal.firwin(2 * 64 * widest + 1, 0.94 / widest, window=("kaiser", 10))
    return scipy.signal.resample_poly(mono, up, down, window=taps)


def file_case(name, kind, subtype, rate, channels, seconds):
    buffer = io.BytesIO()
    soundfile.write(buffer, drawn(rate, channels, seconds), rate, format=kind, subtype=subtype)
    decoded, read_rate = soundfile.read(io.BytesIO(buffer.getvalue()), always_2d=True)
    samples = resampled(decoded.mean(axis=1), read_rate)
    whole = np.clip(np.rint(samples * 32768), -32768, 32767).astype("<i2")
    return {
        "name": name,
        "file": base64.b64encode(buffer.getvalue()).decode(),
        "samples": base64.b64encode(whole.tobytes()).decode(),
    }


def noise(count, seed, loud):
    """A linear congruential generator and a rising tone: whole numbers that JavaScript draws the same."""
    state = seed
    out = np.zeros(count, dtype=np.int16)
    for index in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        wave = 1 if (index * (1 + index // 4000)) % 160 < 80 else -1
        out[index] = ((state >> 16) - 32768) // loud + wave * 1500
    return out


SOUNDS = [(3, 480_000, 8), (5, 100_003, 100), (7, 159, 3)]
EVERY = 997


def feature_case(seed, count, loud, mels):
    extractor = WhisperFeatureExtractor(feature_size=mels)
    samples = noise(count, seed, loud).astype(np.float32) / 32768
    made = extractor(samples, sampling_rate=TARGET, return_tensors="np", padding="max_length")["input_features"][0]
    assert made.shape == (mels, 3000)
    flat = made.reshape(-1)
    return {
        "seed": seed,
        "count": count,
        "loud": loud,
        "mels": mels,
        "every": EVERY,
        "values": [round(float(value), 6) for value in flat[::EVERY]],
        "rows": [round(float(value), 6) for value in made.mean(axis=1)],
    }


# Text is 0 to 29, then the end, other tokens, <|notimestamps|> and 40 times.
VOCABULARY, END, NO_TIMESTAMPS = 80, 30, 39
BEGIN = NO_TIMESTAMPS + 1
PROMPT = [31, 32, 33]
token_random = np.random.default_rng(43)


def drawn_tokens(length):
    """Mostly as a model writes them, so that all rules come up."""
    tokens, last = [], BEGIN
    for _ in range(length):
        if token_random.random() < 0.5:
            last = min(VOCABULARY - 1, last + int(token_random.integers(0, 4)))
            tokens.append(last)
        else:
            tokens.append(int(token_random.integers(0, END)))
    return tokens


def segment_case(index):
    tokens = drawn_tokens(1 + index % 14)
    frames = 3000 if index % 2 else int(token_random.integers(100, 3000))
    segments, offset = WhisperGenerationMixin._retrieve_segment(
        seek_sequence=torch.tensor(tokens),
        seek_outputs=[None],
        time_offset=torch.tensor([0.0], dtype=torch.float64),
        timestamp_begin=BEGIN,
        seek_num_frames=torch.tensor([frames]),
        time_precision=0.02,
        time_precision_features=0.01,
        input_stride=2,
        prev_idx=0,
        idx=0,
        return_token_timestamps=False,
        decoder_input_ids=torch.tensor([PROMPT]),
    )
    return {
        "tokens": tokens,
        "frames": frames,
        "segments": [[round(float(each["start"]), 4), round(float(each["end"]), 4)] for each in segments],
        "offset": int(offset),
    }


def write(path, value):
    with open(path, "w") as out:
        json.dump(value, out)
        out.write("\n")


def main():
    folder = sys.argv[1]
    cases = [file_case(*each) for each in FILES]
    with open(f"{folder}/files.json.gz", "wb") as out:
        # Without a time, so that it is the same each time.
        out.write(gzip.compress(json.dumps(cases).encode(), mtime=0))
    features = [feature_case(*each, mels) for each in SOUNDS for mels in (80, 128)]
    write(f"{folder}/features.json", features)
    segments = [segment_case(index) for index in range(120)]
    write(f"{folder}/whisper.json", {"noTimestamps": NO_TIMESTAMPS, "segments": segments})


main()
