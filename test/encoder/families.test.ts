/** Families of encoders compute what Transformers computes from the same files. */
import { describe, expect, it } from 'vitest';
import { EncoderTokenizer } from '../../src/front/embedding/encoder-tokenizer.ts';
import { cosine, encoderIn, largestDifference, tokensOf } from './support/encoders.ts';
import {
  ENCODER_FAMILIES,
  familyFolder,
  familyReference,
  sparseFolder,
} from './support/encoder-families.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** As in scripts/references/encoders.py. */
const MAX_LENGTH = 24;
const QUERY = 'Who sat on the mat?';

describe.each(ENCODER_FAMILIES)('%s', (name) => {
  it('reads texts as its tokenizer does', async () => {
    const { texts, ids, pair, pairSecondStart } = await familyReference(name);
    const tokenizer = await EncoderTokenizer.load({ folder: await familyFolder(name, 'body') });
    const cut = { maxTokens: MAX_LENGTH, truncate: true };
    expect(texts.map((text) => [...tokenizer.encode([text], cut).ids])).toEqual(ids);
    const both = tokenizer.encode([QUERY, texts[0] ?? ''], cut);
    expect({ ...both, ids: [...both.ids] }).toEqual({ ids: pair, secondStart: pairSecondStart });
  });

  it('makes the same vectors of tokens in fp32, whatever the texts beside them', async () => {
    const { ids, tokens } = await familyReference(name);
    const { run } = await encoderIn(
      await familyFolder(name, 'body'),
      'fp32',
      await temporaryDirectory(),
    );
    const texts = ids.map((each) => ({ ...tokensOf(each), wantsTokens: true }));
    const together = run(texts);
    const alone = texts.flatMap((text) => run([text]));
    for (const [row, wanted] of tokens.entries()) {
      expect(largestDifference(together[row] ?? [], wanted.flat())).toBeLessThan(5e-5);
      expect(largestDifference(together[row] ?? [], alone[row] ?? [])).toBeLessThan(1e-5);
    }
  });

  it.each([
    ['fp32', 0.999_999],
    ['int8', 0.99],
  ] as const)('pools them to near vectors in %s', async (precision, least) => {
    const { ids, tokens } = await familyReference(name);
    const folder = await familyFolder(name, 'body');
    const { run } = await encoderIn(folder, precision, await temporaryDirectory());
    const made = run(ids.map((each) => tokensOf(each)));
    for (const [row, wanted] of tokens.entries()) {
      expect(cosine(made[row] ?? [], meanOf(wanted))).toBeGreaterThan(least);
    }
  });

  it('weighs words as its head does', async () => {
    const { ids, words, architectures } = await familyReference(name);
    if (architectures.words === undefined) return;
    const folder = await sparseFolder(name);
    const { run, text } = await encoderIn(folder, 'fp32', await temporaryDirectory());
    expect(text?.kind).toBe('sparse');
    const made = run(ids.map((each) => tokensOf(each)));
    for (const [row, wanted] of words.entries()) {
      const weights = wanted.filter((weight) => weight > 0);
      // Places are the other output: see test/server/embeddings/sparse.test.ts.
      expect(largestDifference(made[row] ?? [], weights)).toBeLessThan(5e-5);
    }
  });

  it('scores labels as its head does', async () => {
    const { ids, pair, pairSecondStart, logits, architectures } = await familyReference(name);
    if (architectures.labels === undefined) return;
    const folder = await familyFolder(name, 'labels');
    const { run } = await encoderIn(folder, 'fp32', await temporaryDirectory());
    const made = run([...ids.map((each) => tokensOf(each)), tokensOf(pair, pairSecondStart)]);
    for (const [row, wanted] of logits.entries()) {
      expect(largestDifference(made[row] ?? [], wanted)).toBeLessThan(5e-5);
    }
  });
});

function meanOf(tokens: readonly (readonly number[])[]): number[] {
  const [first = []] = tokens;
  return first.map((_value, at) => {
    return tokens.reduce((sum, token) => sum + (token[at] ?? 0), 0) / tokens.length;
  });
}
