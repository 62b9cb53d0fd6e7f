import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { openEncoder } from '../../../src/encoder/open-encoder.ts';
import type { TokenInput } from '../../../src/encoder/process/protocol.ts';
import type { EncoderPrecision } from '../../../src/model/encoder/encoder-nodes.ts';

const vectors = z.array(z.array(z.number()));

/** Output of scripts/references/encoders.py. */
const referenceSchema = z.object({
  texts: z.array(z.string()).default([]),
  query: z.string().default(''),
  documents: z.array(z.string()).default([]),
  ids: vectors,
  vectors: vectors.default([]),
  prompt: z.object({ name: z.string(), vectors }).optional(),
  logits: z.array(z.number()).default([]),
  scores: z.array(z.number()).default([]),
  /** Two texts that a classifier reads together, after the texts. */
  pair: z.tuple([z.string(), z.string()]).optional(),
  labels: z.array(z.string()).default([]),
  probs: vectors.default([]),
});

export const EMBEDDERS = ['bert', 'bert-dense', 'xlm-roberta', 'xlm-roberta-last'];
export const RERANKERS = ['bert-reranker', 'xlm-roberta-reranker'];

export const CLASSIFIERS = ['bert-classifier', 'xlm-roberta-topics'];

export function encoderFolder(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/encoders/${name}`, import.meta.url));
}

export async function encoderReference(name: string) {
  const text = await readFile(join(encoderFolder(name), 'reference.json'), 'utf8');
  return referenceSchema.parse(JSON.parse(text));
}

/** An encoder in this process. */
export async function encoderIn(
  folder: string,
  precision: EncoderPrecision,
  cacheDirectory: string,
) {
  const source = { type: 'text', folder, precision, cacheDirectory } as const;
  const { runner, text } = await openEncoder(source, 1);
  const run = (inputs: readonly TokenInput[]): Float32Array[] => {
    const made: Float32Array[] = [];
    runner.run(inputs, (outcomes) => {
      for (const outcome of outcomes) {
        if (outcome.type === 'failed') throw new Error(outcome.message);
        // The last output of a sparse encoder has its weights.
        made.push(Float32Array.from(outcome.output.at(-1)?.data ?? [], Number));
      }
    });
    return made;
  };
  return { run, text };
}

export function tokensOf(ids: readonly number[], secondStart = ids.length): TokenInput {
  return { type: 'tokens', ids: Int32Array.from(ids), secondStart };
}

export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, lengthA, lengthB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x = 0, y = 0] = [a[i], b[i]];
    dot += x * y;
    lengthA += x * x;
    lengthB += y * y;
  }
  return dot / Math.sqrt(lengthA * lengthB);
}

export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Math.max(...Array.from(a, (value, index) => Math.abs(value - (b[index] ?? Number.NaN))));
}
