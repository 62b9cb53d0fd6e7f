import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Admission } from '../../../src/front/queue/admission.ts';
import type { GenerationRequest } from '../../../src/front/generation/generation.ts';
import type { TokenLogprob } from '../../../src/front/generation/token-logprob.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { FakeEngine, fakeLogprob } from '../../support/fake-engine.ts';
import { GREEDY, PLAIN_ANSWER } from '../../support/engine-requests.ts';
import { byteFallbackTokenizer } from '../../support/tokenizers.ts';

const TOKENIZERS = {
  summit: await TextTokenizer.load('models/summit'),
  byteFallback: byteFallbackTokenizer(),
};
const never = new AbortController().signal;

async function complete(
  tokenizer: TextTokenizer,
  ids: readonly number[],
  fields: Partial<GenerationRequest>,
  tokensPerBatch = 1,
) {
  const engine = new FakeEngine(() => ids, { tokensPerBatch });
  const admission = new Admission({ concurrency: 1, maxQueue: 0 });
  const { eosTokenIds } = tokenizer;
  const generator = new TextGenerator({ engine, tokenizer, admission, eosTokenIds });
  const request = {
    promptTokenIds: Int32Array.of(100),
    maxTokens: 100,
    minTokens: 0,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: false,
    skipSpecialTokens: true,
    sampling: GREEDY,
    badWords: [],
    logprobs: 2,
    promptLogprobs: null,
    ...fields,
  };
  let text = '';
  const entries: TokenLogprob[] = [];
  let promptEntries: readonly TokenLogprob[] = [];
  for await (const delta of generator.generate(request, never)) {
    expect(delta.logprobs?.map(({ tokenId }) => tokenId)).toEqual([...delta.tokenIds]);
    text += delta.text;
    entries.push(...(delta.logprobs ?? []));
    promptEntries = delta.promptLogprobs ?? promptEntries;
  }
  return { text, entries, promptEntries };
}

/** The bytes that a token stands for. */
function bytesOf(tokenizer: TextTokenizer, tokenId: number): Buffer {
  return Buffer.from(tokenizer.pieces.get(tokenId) ?? '');
}

describe.each(['summit', 'byteFallback'] as const)('log-probabilities of %s', (name) => {
  const tokenizer = TOKENIZERS[name];
  const numTokens = tokenizer.vocabSize;
  const tokenId = fc
    .nat({ max: numTokens - 1 })
    .filter((id) => !tokenizer.eosTokenIds.includes(id));

  it('are one for each token, whose places rise through the text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(tokenId, { maxLength: 20 }),
        fc.integer({ min: 1, max: 5 }),
        async (ids, tokensPerBatch) => {
          const { text, entries } = await complete(tokenizer, ids, {}, tokensPerBatch);
          expect(entries).toHaveLength(ids.length + 1);
          expect(entries.at(-1)?.isShown).toBe(false);
          const length = Array.from(text).length;
          let last = 0;
          for (const { tokenId: id, logprob, rank, top, textOffset } of entries) {
            expect(textOffset).toBeGreaterThanOrEqual(last);
            expect(textOffset).toBeLessThanOrEqual(length);
            expect(logprob).toBe(Math.fround(fakeLogprob(id)));
            expect(rank).toBe(id + 1);
            expect([...top].map((token) => token.tokenId)).toEqual([0, 1]);
            last = textOffset;
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('place each token of a text where its characters are, at every split', async () => {
    const unit = fc.constantFrom('a', ' the', 'é', '€', '😀', '\u{10FFFF}', '\n', 'foo bar');
    await fc.assert(
      fc.asyncProperty(fc.array(unit, { minLength: 1, maxLength: 8 }), async (parts) => {
        const ids = [...tokenizer.encode(parts.join(''), { addSpecialTokens: false })];
        const { text, entries } = await complete(tokenizer, ids, {});
        const characters = Array.from(text);
        const shown = entries.filter(({ isShown }) => isShown);
        const all = Buffer.concat(shown.map((entry) => bytesOf(tokenizer, entry.tokenId)));
        expect(all.toString()).toBe(text);
        let before = Buffer.alloc(0);
        for (const entry of shown) {
          // Up to its place, the text is what the tokens before it complete.
          const upTo = Buffer.from(characters.slice(0, entry.textOffset).join(''));
          expect(before.subarray(0, upTo.length).equals(upTo)).toBe(true);
          expect(before.length - upTo.length).toBeLessThan(4);
          before = Buffer.concat([before, bytesOf(tokenizer, entry.tokenId)]);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('log-probabilities', () => {
  const tokenizer = TOKENIZERS.summit;
  const encode = (text: string) => [...tokenizer.encode(text, { addSpecialTokens: false })];

  it('go up to the end of a stop string, and no further', async () => {
    const before = encode('one two');
    const stop = encode(' END');
    for (const tokensPerBatch of [1, 3, 100]) {
      const ids = [...before, ...stop, ...encode(' and more')];
      const { text, entries } = await complete(tokenizer, ids, { stop: [' END'] }, tokensPerBatch);
      expect(text).toBe('one two');
      expect(entries.map(({ tokenId }) => tokenId)).toEqual([...before, ...stop]);
    }
  });

  it('tell the tokens that are not shown', async () => {
    const word = encode('Yes');
    const special = tokenizer.tokenToId('<|im_start|>') ?? -1;
    const ids = [...word, special, ...word];
    const hidden = await complete(tokenizer, ids, {});
    expect(hidden.entries.map(({ isShown }) => isShown)).toEqual([
      ...word.map(() => true),
      false,
      ...word.map(() => true),
      false,
    ]);
    const fields = { skipSpecialTokens: false, includeStopStrInOutput: true };
    const shown = await complete(tokenizer, ids, fields);
    expect(shown.entries.every(({ isShown }) => isShown)).toBe(true);
    expect(shown.text).toBe('Yes<|im_start|>Yes<|im_end|>');
    expect(shown.entries.at(-1)?.textOffset).toBe('Yes<|im_start|>Yes'.length);
  });

  it('of the prompt are placed in the prompt', async () => {
    const prompt = encode('Hé, 😀 you');
    const fields = { promptTokenIds: Int32Array.from(prompt), promptLogprobs: 1 };
    const { promptEntries } = await complete(tokenizer, encode('x'), fields);
    expect(promptEntries.map(({ tokenId }) => tokenId)).toEqual(prompt.slice(1));
    const characters = Array.from('Hé, 😀 you');
    for (const { tokenId, textOffset } of promptEntries) {
      const piece = bytesOf(tokenizer, tokenId).toString();
      if (piece.includes('\u{FFFD}')) continue;
      expect(characters.slice(textOffset).join('').startsWith(piece)).toBe(true);
    }
  });

  it('are not there unless asked for', async () => {
    const engine = new FakeEngine(() => encode('a b'));
    const admission = new Admission({ concurrency: 1, maxQueue: 0 });
    const generator = new TextGenerator({ engine, tokenizer, admission, eosTokenIds: [2] });
    const request = {
      promptTokenIds: Int32Array.of(5),
      maxTokens: 10,
      ...PLAIN_ANSWER,
    };
    for await (const delta of generator.generate(request, never)) {
      expect(delta.logprobs ?? delta.promptLogprobs).toBeUndefined();
    }
  });
});
