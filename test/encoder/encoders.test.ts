/** Tiny encoders compute what sentence-transformers and Transformers compute from the same files. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EncoderTokenizer } from '../../src/front/embedding/encoder-tokenizer.ts';
import { inspectEncoderFolder } from '../../src/model/encoder/encoder-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import {
  cosine,
  EMBEDDERS,
  encoderFolder,
  encoderIn,
  encoderReference,
  largestDifference,
  RERANKERS,
  tokensOf,
} from './support/encoders.ts';

describe.each(EMBEDDERS)('%s', (name) => {
  it('tokenizes texts as Transformers does', async () => {
    const { texts, ids } = await encoderReference(name);
    const tokenizer = await EncoderTokenizer.load({ folder: encoderFolder(name) });
    const { maxTokens } = await inspectEncoderFolder(encoderFolder(name));
    const options = { maxTokens, truncate: true };
    expect(texts.map((text) => [...tokenizer.encode([text], options).ids])).toEqual(ids);
  });

  it('makes the same vectors in fp32, from weights', async () => {
    const { ids, vectors } = await encoderReference(name);
    // An export would be taken first.
    const folder = await temporaryDirectory();
    await cp(encoderFolder(name), folder, { recursive: true });
    await rm(join(folder, 'onnx'), { recursive: true, force: true });
    const { run, text } = await encoderIn(folder, 'fp32', await temporaryDirectory());
    expect(text).toEqual({ kind: 'embedding', dim: vectors[0]?.length, tokenDim: 16 });
    const made = run(ids.map((each) => tokensOf(each)));
    for (const [row, vector] of vectors.entries()) {
      expect(largestDifference(made[row] ?? [], vector)).toBeLessThan(1e-4);
    }
  });

  it('makes near ones in int8, the same whatever they are computed beside', async () => {
    const { ids, vectors } = await encoderReference(name);
    const { run } = await encoderIn(encoderFolder(name), 'int8', await temporaryDirectory());
    const together = run(ids.map((each) => tokensOf(each)));
    const alone = ids.flatMap((each) => run([tokensOf(each)]));
    for (const [row, vector] of vectors.entries()) {
      expect(cosine(together[row] ?? [], vector)).toBeGreaterThan(0.99);
      expect(largestDifference(together[row] ?? [], alone[row] ?? [])).toBeLessThan(1e-5);
    }
  });
});

it('an export makes the same vectors', async () => {
  const { ids, vectors } = await encoderReference('bert');
  const folder = encoderFolder('bert');
  expect((await inspectEncoderFolder(folder)).graph.type).toBe('export');
  const { run } = await encoderIn(folder, 'fp32', await temporaryDirectory());
  const made = run(ids.map((each) => tokensOf(each)));
  for (const [row, vector] of vectors.entries()) {
    expect(largestDifference(made[row] ?? [], vector)).toBeLessThan(1e-5);
  }
});

describe.each(RERANKERS)('%s', (name) => {
  it('scores pairs of texts as Transformers does', async () => {
    const { query, documents, ids, logits } = await encoderReference(name);
    const tokenizer = await EncoderTokenizer.load({ folder: encoderFolder(name) });
    const { maxTokens } = await inspectEncoderFolder(encoderFolder(name));
    const pairs = documents.map((document) =>
      tokenizer.encode([query, document], { maxTokens, truncate: true }),
    );
    expect(pairs.map((pair) => [...pair.ids])).toEqual(ids);
    const cache = await temporaryDirectory();
    const { run, text } = await encoderIn(encoderFolder(name), 'fp32', cache);
    expect(text).toEqual({ kind: 'reranker', dim: 1, tokenDim: null });
    const made = run(pairs.map((pair) => ({ type: 'tokens', ...pair })));
    expect(
      largestDifference(
        made.map(([logit = Number.NaN]) => logit),
        logits,
      ),
    ).toBeLessThan(1e-4);
  });
});
