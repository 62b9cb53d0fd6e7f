/** Texts of the tiny checkpoints of model families, with what Transformers computes of them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'vitest';
import { z } from 'zod';

import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { engineRequest, READS_LOGITS } from './engine-requests.ts';
import { FAMILY_FIXTURES } from './families.ts';

/** Those of families whose layers have states. */
export const HYBRID_FIXTURES = 'test/fixtures/hybrids';
export const HYBRID_GGUF = 'test/fixtures/hybrids-gguf';

const referencesSchema = z
  .array(
    z.object({
      max_model_len: z.number(),
      ids: z.array(z.number()),
      greedy: z.array(z.number()),
      /** By the number of tokens that lead to them. */
      logits: z.record(z.string(), z.array(z.number())),
    }),
  )
  .min(2);

export async function readReferences(name: string, fixtures = FAMILY_FIXTURES) {
  const text = await readFile(join(fixtures, name, 'reference.json'), 'utf8');
  return referencesSchema.parse(JSON.parse(text)).map(({ max_model_len, logits, ...rest }) => ({
    ...rest,
    maxModelLen: max_model_len,
    lengths: Object.keys(logits).map(Number),
    logitsAt: (length: number): readonly number[] => logits[length] ?? [],
  }));
}

/** One sequence, computed from its first token on. */
export class Text {
  readonly #decoder: CpuDecoder;
  readonly #sequence = new Sequence(
    engineRequest({ promptTokenIds: new Int32Array(), sampling: READS_LOGITS }),
  );
  #length = 0;

  constructor(model: BuiltModel, maxModelLen: number) {
    this.#decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen });
    this.#sequence.slot = 0;
  }

  /** @returns the logits after more tokens; a decode run computes a single one */
  extend(tokenIds: readonly number[]): Float32Array {
    const sequence = this.#sequence;
    const start = this.#length;
    for (const tokenId of tokenIds) sequence.append(tokenId);
    this.#length += tokenIds.length;
    const segments = [segmentOf(sequence, tokenIds.length, start)];
    const [result] = this.#decoder.execute({ cacheOperations: [], segments }).logits;
    return result?.logits[0]?.slice() ?? new Float32Array();
  }

  /** Greedy tokens after a text, and the logits before the first of them and after the last. */
  continue(ids: readonly number[], numTokens: number) {
    const first = this.extend(ids);
    const tokens: number[] = [];
    let last = first;
    while (tokens.length < numTokens) {
      const token = argmax(last);
      tokens.push(token);
      last = this.extend([token]);
    }
    return { tokens, first, last };
  }

  release(): void {
    this.#decoder.release();
  }
}

/** Largest difference, against the largest expected value. */
export function deviation(actual: ArrayLike<number>, expected: readonly number[]): number {
  expect(actual).toHaveLength(expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs(value - (actual[i] ?? NaN)))) / largest;
}
