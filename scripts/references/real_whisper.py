"""What Transformers writes in float32 with a real Whisper of sounds that espeak-ng draws, and the words' times.

Usage: python3 scripts/references/real_whisper.py <folder> <into> [--sounds 8] [--sentences 3]
Needs: pip install numpy torch transformers (written with 2.15 and 5.24), espeak-ng, and the folder, see
scripts/real-models/fetch.ts. Sounds are WAV files of 8 bits (u-law) and 16 kHz.
"""

import argparse
import audioop
import json
import struct
import subprocess
import wave
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.models.whisper import tokenization_whisper

RATE = 16000
VOICES = ["en-us", "en-gb", "en-gb-scotland", "en-us+f3", "en-gb+m3", "en-us+f4"]
SENTENCES = [
    "The harbour was quiet in the early morning.",
    "Two boats left before the sun came up, and the others waited for the wind.",
    "At noon the market opened, and people bought bread, fish and apples.",
    "My sister works in a hospital on the other side of the river.",
    "She said that the train would arrive at seven o'clock in the evening.",
    "We walked through the forest for three hours and saw nobody.",
    "The teacher asked the children to write a short story about winter.",
    "There is a small restaurant near the station which serves good soup.",
    "He forgot his umbrella, so he was wet when he came home.",
    "The museum is closed on Monday, but the garden is always open.",
    "Please turn left at the second bridge and follow the road to the village.",
    "Scientists have found that the old map was drawn by a woman.",
    "The computer was too slow for the new program.",
    "Last summer they travelled to the mountains with their dog.",
    "The letter arrived on a Thursday, two weeks after my birthday.",
    "Nobody knew why the lights in the library were still on.",
    "After the concert the musicians thanked the audience and left.",
    "A cup of tea and a piece of cake cost five dollars.",
    "The farmer sold his horses because he wanted to move to the city.",
    "It will rain tomorrow, and the day after that it will be sunny.",
    "The captain told the passengers to stay calm and to sit down.",
    "I have never read a book that was as long as this one.",
    "The bakery on the corner opens at six in the morning.",
    "Both teams played well, but nobody scored a goal.",
]


def draw(text: str, voice: str) -> np.ndarray:
    """Samples of 16 bits."""
    made = subprocess.run(["espeak-ng", "-v", voice, "-s", "150", "--stdout", text], check=True, capture_output=True)
    with wave.open(BytesIO(made.stdout)) as file:
        pieces = file.readframes(2**30)
        return np.frombuffer(audioop.ratecv(pieces, 2, 1, file.getframerate(), RATE, None)[0], "<i2")


def mu_law_file(samples: np.ndarray) -> tuple[bytes, np.ndarray]:
    """The file, and the samples that it has."""
    data = audioop.lin2ulaw(samples.tobytes(), 2)
    data += b"\xff" * (len(data) % 2)
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 7, 1, RATE, RATE, 1, 8, b"data", len(data))
    return head + data, np.frombuffer(audioop.ulaw2lin(data, 2), "<i2")


def words_of(tokens, pieces: list[int], times: list[float], language: str) -> list[dict]:
    """As the pipeline has them: a token ends at its time, and begins where the one before ends."""
    starts = [times[0], *times[:-1]]
    kept = [at for at, token in enumerate(pieces) if token < tokens.eos_token_id]
    words, _, indices = tokenization_whisper._combine_tokens_into_words(tokens, [pieces[at] for at in kept], language)
    return [
        {"word": word, "start": round(starts[kept[at[0]]], 2), "end": round(times[kept[at[-1]]], 2)}
        for word, at in zip(words, indices, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("into", type=Path)
    parser.add_argument("--sounds", type=int, default=8)
    parser.add_argument("--sentences", type=int, default=3)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(2)
    folder = arguments.folder.resolve()
    model = transformers.WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = transformers.WhisperTokenizerFast.from_pretrained(folder)
    extractor = transformers.WhisperFeatureExtractor(feature_size=model.config.num_mel_bins)
    spoken = {"language": "en", "task": "transcribe"} if model.generation_config.is_multilingual else {}
    arguments.into.mkdir(parents=True, exist_ok=True)
    cases = []
    for index in range(arguments.sounds):
        lines = [SENTENCES[(index * arguments.sentences + each) % len(SENTENCES)] for each in range(arguments.sentences)]
        file, samples = mu_law_file(draw(" ".join(lines), VOICES[index % len(VOICES)]))
        name = f"sound-{index}.wav"
        (arguments.into / name).write_bytes(file)
        heard = extractor(
            samples.astype(np.float32) / 32768, sampling_rate=RATE, return_tensors="pt", return_attention_mask=True
        )
        made = model.generate(
            heard.input_features,
            attention_mask=heard.attention_mask,
            return_timestamps=True,
            return_segments=True,
            return_token_timestamps=True,
            do_sample=False,
            **spoken,
        )
        segments = []
        for each in made["segments"][0]:
            pieces = [int(token) for token in each["tokens"]]
            times = [float(time) for time in each["token_timestamps"]]
            segments.append(
                {
                    "start": round(float(each["start"]), 2),
                    "end": round(float(each["end"]), 2),
                    "tokens": [token for token in pieces if token != tokens.eos_token_id],
                    "words": words_of(tokens, pieces, times, "english"),
                }
            )
        text = "".join(tokens.decode(each["tokens"], skip_special_tokens=True) for each in segments).strip()
        cases.append({"sound": name, "said": " ".join(lines), "text": text, "segments": segments})
        (arguments.into / "reference.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")
        print(name, text, flush=True)


if __name__ == "__main__":
    main()
