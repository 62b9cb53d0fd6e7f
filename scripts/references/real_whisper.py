"""What Transformers writes in float32 with a real Whisper of sounds that espeak-ng draws, and the words' times.

Usage: python3 scripts/references/real_whisper.py <folder> <into> [--sounds 8] [--sentences 3]
A model of many languages is told English, German, French and Spanish in turns: it finds the language out,
writes the text, and translates it, where OpenAI's rules take what it wrote.
Needs: pip install numpy torch transformers (written with 2.15 and 5.24), espeak-ng, and the folder, see
scripts/real-models/fetch.ts. Sounds are WAV files of 8 bits (u-law) and 16 kHz.
"""

import argparse
import audioop
import json
import struct
import subprocess
import wave
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.models.whisper import tokenization_whisper
from transformers.models.whisper.tokenization_whisper import LANGUAGES

RATE = 16000
# OpenAI's thresholds: a text beyond them is tried again, by chance.
MAX_COMPRESSION = 2.4
MIN_LOGPROB = -1.0
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
# Voice and sentences by language, for models that know more than English.
FOREIGN = {
    "de": (
        "de+f3",
        [
            "Der Zug nach Hamburg fährt heute eine Stunde später.",
            "Meine Schwester arbeitet in einem großen Krankenhaus.",
            "Im Winter gehen die Kinder gerne im Wald spazieren.",
            "Wir haben gestern Abend zusammen Suppe gekocht.",
        ],
    ),
    "fr": (
        "fr-be+f3",
        [
            "Le train pour Paris part ce matin à huit heures.",
            "Ma sœur travaille dans un grand hôpital.",
            "Les enfants jouent dans le jardin après l'école.",
            "Nous avons acheté du pain et du fromage au marché.",
        ],
    ),
    "es": (
        "es",
        [
            "El tren para Madrid sale a las ocho de la mañana.",
            "Mi hermana trabaja en un hospital muy grande.",
            "Los niños juegan en el jardín después de la escuela.",
            "Ayer compramos pan, queso y manzanas en el mercado.",
        ],
    ),
}


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


def lines_of(sounds: int, sentences: int, is_multilingual: bool) -> list[tuple[str, list[str]]]:
    """Voices, and what they say."""

    def some(of: list[str], index: int) -> list[str]:
        return [of[(index * sentences + each) % len(of)] for each in range(sentences)]

    if not is_multilingual:
        return [(VOICES[index % len(VOICES)], some(SENTENCES, index)) for index in range(sounds)]
    languages = [("en-us", SENTENCES), *FOREIGN.values()]
    return [
        (languages[index % len(languages)][0], some(languages[index % len(languages)][1], index // len(languages)))
        for index in range(sounds)
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
    is_multilingual = model.generation_config.is_multilingual
    arguments.into.mkdir(parents=True, exist_ok=True)
    cases = []
    said = lines_of(arguments.sounds, arguments.sentences, is_multilingual)
    for index, (voice, lines) in enumerate(said):
        file, samples = mu_law_file(draw(" ".join(lines), voice))
        name = f"sound-{index}.wav"
        (arguments.into / name).write_bytes(file)
        heard = extractor(
            samples.astype(np.float32) / 32768, sampling_rate=RATE, return_tensors="pt", return_attention_mask=True
        )

        def hear(**options) -> tuple[str, list[dict]]:
            made = model.generate(
                heard.input_features,
                attention_mask=heard.attention_mask,
                return_timestamps=True,
                return_segments=True,
                do_sample=False,
                **options,
            )["segments"][0]
            kept = [[int(token) for token in each["tokens"] if token != tokens.eos_token_id] for each in made]
            segments = [
                {"start": round(float(each["start"]), 2), "end": round(float(each["end"]), 2), "tokens": ids}
                for each, ids in zip(made, kept, strict=True)
            ]
            if options.get("return_token_timestamps"):
                for each, segment in zip(made, segments, strict=True):
                    pieces = [int(token) for token in each["tokens"]]
                    times = [float(time) for time in each["token_timestamps"]]
                    segment["words"] = words_of(tokens, pieces, times, LANGUAGES[options.get("language", "en")])
            return "".join(tokens.decode(ids, skip_special_tokens=True) for ids in kept).strip(), segments

        def is_sure(task: str, text: str, segments: list[dict]) -> bool:
            if len(text.encode()) / len(zlib.compress(text.encode())) > MAX_COMPRESSION:
                return False
            asked = [f"<|{spoken['language']}|>", f"<|{task}|>"] if is_multilingual else []
            before = tokens.convert_tokens_to_ids(["<|startoftranscript|>", *asked])
            ids = [id for each in segments for id in each["tokens"]] + [tokens.eos_token_id]
            with torch.no_grad():
                logits = model(heard.input_features, decoder_input_ids=torch.tensor([before + ids])).logits[0]
            rows = logits[len(before) - 1 : -1].log_softmax(-1)
            return rows[range(len(ids)), ids].mean().item() > MIN_LOGPROB

        spoken = {}
        if is_multilingual:
            token = int(model.detect_language(heard.input_features)[0])
            spoken = {"language": tokens.decode([token]).strip("<|>")}
        task = {**spoken, "task": "transcribe"} if is_multilingual else {}
        text, segments = hear(return_token_timestamps=True, **task)
        if not is_sure("transcribe", text, segments):
            print(name, "is left out:", text, flush=True)
            continue
        case = {"sound": name, "said": " ".join(lines), **spoken, "text": text, "segments": segments}
        if is_multilingual:
            translated, pieces = hear(**spoken, task="translate")
            if is_sure("translate", translated, pieces):
                case["translation"] = {"text": translated, "segments": pieces}
        cases.append(case)
        (arguments.into / "reference.json").write_text(json.dumps({"cases": cases}, indent=1, ensure_ascii=False) + "\n")
        print(name, case.get("language", ""), text, "|", case.get("translation", {}).get("text", ""), flush=True)


if __name__ == "__main__":
    main()
