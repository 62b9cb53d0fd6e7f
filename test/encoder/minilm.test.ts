/**
 * all-MiniLM-L6-v2 makes what sentence-transformers makes of it. Its folder, which is not ours to
 * ship, is named by CHAIRLIFT_MINILM: see scripts/references/minilm.py.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EncoderTokenizer } from '../../src/front/embedding/encoder-tokenizer.ts';
import { inspectEncoderFolder } from '../../src/model/encoder/encoder-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cosine, encoderIn, tokensOf } from './support/encoders.ts';
import { needs } from '../support/needs.ts';

const folder = process.env['CHAIRLIFT_MINILM'] ?? '';
const MINILM = { name: 'all-MiniLM-L6-v2 in CHAIRLIFT_MINILM', isThere: folder !== '' };

const referenceSchema = z.object({
  texts: z.array(z.string()),
  ids: z.array(z.array(z.int())),
  vectors: z.array(z.array(z.number())),
});

describe('all-MiniLM-L6-v2', needs(MINILM), async () => {
  const path = new URL('../fixtures/minilm.json', import.meta.url);
  const reference = referenceSchema.parse(JSON.parse(await readFile(path, 'utf8')));

  it('has its tokens', async () => {
    const tokenizer = await EncoderTokenizer.load({ folder });
    const { maxTokens } = await inspectEncoderFolder(folder);
    const options = { maxTokens, truncate: true };
    const ids = reference.texts.map((text) => [...tokenizer.encode([text], options).ids]);
    expect(ids).toEqual(reference.ids);
  });

  it.each([
    ['fp32', 0.9999],
    ['int8', 0.99],
  ] as const)('has its vectors in %s', async (precision, least) => {
    const { run } = await encoderIn(folder, precision, await temporaryDirectory());
    const made = run(reference.ids.map((ids) => tokensOf(ids)));
    for (const [row, vector] of reference.vectors.entries()) {
      expect(cosine(made[row] ?? [], vector)).toBeGreaterThan(least);
    }
  });
});
