import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { Detokenizer } from '../../../src/front/text/detokenizer.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import {
  byteFallbackTokenizer,
  metaspaceTokenizer,
  tokenizerWithDecoder,
} from '../../support/tokenizers.ts';

const NO_PROMPT = new Int32Array();

let byteLevel: TextTokenizer;
const byteFallback = byteFallbackTokenizer();
const metaspace = metaspaceTokenizer();

/** The ids of single bytes. */
function bytesOf(tokenizer: TextTokenizer, ...bytes: number[]): number[] {
  return bytes.map((value) => (tokenizer === byteFallback ? value + 2 : byteLevelId(value)));
}

function byteLevelId(byte: number): number {
  for (let id = 9; id < 9 + 256; id++) {
    const bytes = Buffer.from(byteLevel.pieces.get(id) ?? '');
    if (bytes.length === 1 && bytes[0] === byte) return id;
  }
  throw new Error(`no token is the byte ${byte}`);
}

/** Cuts ids into chunks of the given lengths, over and over. */
function* chunks(ids: readonly number[], lengths: readonly number[]): Generator<number[]> {
  let start = 0;
  for (let i = 0; start < ids.length; i++) {
    const length = lengths[i % lengths.length] ?? 1;
    yield ids.slice(start, start + length);
    start += length;
  }
}

function stream(
  detokenizer: Detokenizer,
  ids: readonly number[],
  lengths: readonly number[],
): string {
  let text = '';
  for (const chunk of chunks(ids, lengths)) text += detokenizer.push(chunk);
  return text + detokenizer.flush();
}

const lengthsOfChunks = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 });

/** Bytes that make, break and nearly make characters. */
const byte = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.constantFrom(
    0xe2,
    0x82,
    0xac,
    0xf0,
    0x9f,
    0x98,
    0x80,
    0xed,
    0xa0,
    0xef,
    0xbb,
    0xbf,
    0xbd,
    0xc3,
  ),
);

beforeAll(async () => {
  byteLevel = await TextTokenizer.load('models/summit');
});

describe.each([
  ['byte-level', () => byteLevel],
  ['byte fallback', () => byteFallback],
  ['metaspace', () => metaspace],
])('Detokenizer, %s', (_, tokenizerOf) => {
  it('streams what decoding the whole gives, for any ids in any chunks', () => {
    const tokenizer = tokenizerOf();
    const tokenId = fc.oneof(
      fc.integer({ min: -1, max: tokenizer.vocabSize + 1 }),
      fc.integer({ min: 0, max: 300 }),
    );
    fc.assert(
      fc.property(
        fc.array(tokenId, { maxLength: 40 }),
        lengthsOfChunks,
        fc.boolean(),
        (ids, lengths, skipSpecialTokens) => {
          const options = { skipSpecialTokens, promptTokenIds: NO_PROMPT };
          const text = stream(new Detokenizer(tokenizer, options), ids, lengths);
          expect(text).toBe(tokenizer.decode(ids, { skipSpecialTokens }));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('continues a prompt as decoding both together does', () => {
    const tokenizer = tokenizerOf();
    const text = fc.string({
      unit: fc.constantFrom(' ', 'a', 'b', ' foo', ' bar', 'é', '😀'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, text, lengthsOfChunks, (before, after, lengths) => {
        const promptTokenIds = tokenizer.encode(`a${before}`, { addSpecialTokens: false });
        const ids = [...tokenizer.encode(after, { addSpecialTokens: false })];
        const options = { skipSpecialTokens: true, promptTokenIds };
        const streamed = stream(new Detokenizer(tokenizer, options), ids, lengths);
        const whole = tokenizer.decode([...promptTokenIds, ...ids], { skipSpecialTokens: true });
        const prompt = tokenizer.decode(promptTokenIds, { skipSpecialTokens: true });
        expect(prompt + streamed).toBe(whole);
      }),
    );
  });

  it('gives out every text in full characters', () => {
    const tokenizer = tokenizerOf();
    const unit = tokenizer === metaspace ? fc.constantFrom('a', 'é', '€', '😀') : 'binary';
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        fc.pre(tokenizer !== byteFallback || !text.includes('\uFEFF'));
        const detokenizer = new Detokenizer(tokenizer, {
          skipSpecialTokens: false,
          promptTokenIds: tokenizer.encode('a', { addSpecialTokens: false }),
        });
        const ids = tokenizer.encode(text, { addSpecialTokens: false });
        const pieces = [...ids].map((id) => detokenizer.push([id]));
        for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}/u);
        expect(pieces.join('').trimStart()).toBe(text.replaceAll('▁', ' ').trimStart());
        expect(detokenizer.flush()).toBe('');
      }),
    );
  });
});

describe.each([
  ['byte-level', () => byteLevel],
  ['byte fallback', () => byteFallback],
])('Detokenizer, bytes, %s', (_, tokenizerOf) => {
  it('streams any bytes as decoding the whole does', () => {
    const tokenizer = tokenizerOf();
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 30 }), lengthsOfChunks, (bytes, lengths) => {
        const ids = bytesOf(tokenizer, ...bytes);
        const options = { skipSpecialTokens: true, promptTokenIds: Int32Array.of(5) };
        const text = stream(new Detokenizer(tokenizer, options), ids, lengths);
        const reference = new TextDecoder('utf-8', { ignoreBOM: tokenizer === byteLevel });
        expect(text).toBe(reference.decode(Uint8Array.from(bytes)));
      }),
      { numRuns: 500 },
    );
  });

  it('holds back an unfinished character only as long as it may still be finished', () => {
    const tokenizer = tokenizerOf();
    const detokenizer = new Detokenizer(tokenizer, {
      skipSpecialTokens: true,
      promptTokenIds: Int32Array.of(5),
    });
    const push = (value: number): string => detokenizer.push(bytesOf(tokenizer, value));
    expect([0xf0, 0x9f, 0x98, 0x80].map(push)).toEqual(['', '', '', '😀']);
    // A continuation byte that continues nothing, and a lead byte that another one overtakes.
    expect([0x80, 0x80, 0xe2, 0x82, 0xe2].map(push)).toEqual(['�', '�', '', '', '�']);
    expect(detokenizer.flush()).toBe('�');
    expect(detokenizer.flush()).toBe('');
  });

  it('shows nothing of a prompt that ends within a character', () => {
    const tokenizer = tokenizerOf();
    const promptTokenIds = Int32Array.from(bytesOf(tokenizer, 0x41, 0xf0, 0x9f));
    const detokenizer = new Detokenizer(tokenizer, { skipSpecialTokens: true, promptTokenIds });
    const [first = 0, second = 0, third = 0] = bytesOf(tokenizer, 0x98, 0x80, 0x42);
    expect(detokenizer.push([first, second, third])).toBe('��B');
  });
});

describe('Detokenizer', () => {
  const foo = metaspace.tokenToId('▁foo') ?? -1;
  const [bos, other] = [Int32Array.of(0), Int32Array.of(0, 5)];

  it.each([
    ['after a prompt', other, true, ' foo foo'],
    ['after special tokens that are left out', bos, true, 'foo foo'],
    ['after special tokens that are shown', bos, false, ' foo foo'],
  ])('keeps the space of the first word %s', (_, promptTokenIds, skipSpecialTokens, expected) => {
    const detokenizer = new Detokenizer(metaspace, { skipSpecialTokens, promptTokenIds });
    expect(detokenizer.push([foo, foo])).toBe(expected);
  });

  it('puts special tokens between the bytes around them', () => {
    const [lead = 0] = bytesOf(byteLevel, 0xe2);
    const options = { skipSpecialTokens: false, promptTokenIds: NO_PROMPT };
    expect(new Detokenizer(byteLevel, options).push([lead, 2, lead])).toBe('�<|im_end|>');
  });

  it('leaves added tokens of a byte-level vocabulary as they are', () => {
    const tokenizer = tokenizerWithDecoder({ type: 'ByteLevel' });
    const options = { skipSpecialTokens: false, promptTokenIds: NO_PROMPT };
    expect(new Detokenizer(tokenizer, options).push([1])).toBe('<｜end▁ofĠtext｜>');
    expect(tokenizer.decode([1], options)).toBe('<｜end▁ofĠtext｜>');
  });

  it('takes a byte order mark for one where decoding the whole does', () => {
    const ids = bytesOf(byteFallback, 0xef, 0xbb, 0xbf, 0x41, 0xef, 0xbb, 0xbf);
    const options = { skipSpecialTokens: true, promptTokenIds: Int32Array.of(5) };
    expect(stream(new Detokenizer(byteFallback, options), ids, [1])).toBe('A\uFEFF');
    expect(byteFallback.decode(ids, { skipSpecialTokens: true })).toBe('A\uFEFF');
  });
});
