import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import {
  readBannedWords,
  readGenerationDefaults,
} from '../../../src/front/text/generation-config.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { ggufTextFolder } from '../../../src/model/gguf/text/text-folder.ts';
import {
  bool,
  float,
  float32s,
  ggufBytes,
  int,
  int32s,
  text,
  texts,
  uint,
  type Value,
} from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tokenizerTexts } from '../../support/tokenizer-texts.ts';

/** The folder with the texts of a file with that metadata. */
async function textFolder(metadata: Readonly<Record<string, Value>>): Promise<string> {
  const folder = await temporaryDirectory();
  const path = join(folder, 'model.gguf');
  await writeFile(path, ggufBytes(metadata));
  return ggufTextFolder(path, folder);
}

/** By SentencePiece itself, see scripts/references/sentencepiece_bpe.py. */
const vocabularies = z
  .array(
    z.object({
      hasPrefix: z.boolean(),
      tokens: z.array(z.string()),
      scores: z.array(z.number()),
      types: z.array(z.int()),
      cases: z.array(z.object({ text: z.string(), ids: z.array(z.int()) })),
    }),
  )
  .parse(JSON.parse(await readFile('test/fixtures/sentencepiece.json', 'utf8')));

describe.each(vocabularies)('SentencePiece, prefix: $hasPrefix', (vocabulary) => {
  const metadata = {
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': texts(vocabulary.tokens),
    'tokenizer.ggml.scores': float32s(vocabulary.scores),
    'tokenizer.ggml.token_type': int32s(vocabulary.types),
    'tokenizer.ggml.bos_token_id': uint(1),
    'tokenizer.ggml.eos_token_id': uint(2),
    'tokenizer.ggml.add_space_prefix': bool(vocabulary.hasPrefix),
  };

  test('makes the tokens of SentencePiece, and its texts of them', async () => {
    const tokenizer = await TextTokenizer.load(await textFolder(metadata));
    for (const { text: each, ids } of vocabulary.cases) {
      expect([...tokenizer.encode(each, { addSpecialTokens: false })], each).toEqual(ids);
      // The space that comes first is taken off again.
      if (each.includes('▁')) continue;
      expect(tokenizer.decode(ids, { skipSpecialTokens: false })).toBe(each);
    }
  });

  test('begins texts with the begin token, unless the file says otherwise', async () => {
    const all = { addSpecialTokens: true };
    const tokenizer = await TextTokenizer.load(await textFolder(metadata));
    expect(tokenizer.encode('x', all)[0]).toBe(1);
    expect(tokenizer.eosTokenIds).toEqual([2]);
    const quiet = { ...metadata, 'tokenizer.ggml.add_bos_token': bool(false) };
    const other = await TextTokenizer.load(await textFolder(quiet));
    expect(other.encode('x', all)[0]).not.toBe(1);
  });
});

/** By Hugging Face's tokenizers, see scripts/references/gemma4_bpe.py. */
const gemma4 = z
  .object({
    tokens: z.array(z.string()),
    types: z.array(z.int()),
    merges: z.array(z.string()),
    cases: z.array(z.object({ text: z.string(), ids: z.array(z.int()) })),
  })
  .parse(JSON.parse(await readFile('test/fixtures/gemma4-bpe.json', 'utf8')));

test("Gemma 4's tokens are those of its own tokenizer, and their texts", async () => {
  const tokenizer = await TextTokenizer.load(
    await textFolder({
      'tokenizer.ggml.model': text('gemma4'),
      'tokenizer.ggml.tokens': texts(gemma4.tokens),
      'tokenizer.ggml.scores': float32s(gemma4.tokens.map(() => 0)),
      'tokenizer.ggml.token_type': int32s(gemma4.types),
      'tokenizer.ggml.merges': texts(gemma4.merges),
      'tokenizer.ggml.bos_token_id': uint(2),
      'tokenizer.ggml.eos_token_id': uint(1),
      'tokenizer.ggml.add_bos_token': bool(false),
    }),
  );
  for (const { text: each, ids } of gemma4.cases) {
    expect([...tokenizer.encode(each, { addSpecialTokens: false })], each).toEqual(ids);
    expect(tokenizer.decode(ids, { skipSpecialTokens: false })).toBe(each);
  }
  // The begin comes first whatever files say, and turns end answers.
  expect(tokenizer.encode('x', { addSpecialTokens: true })[0]).toBe(2);
  expect(tokenizer.eosTokenIds).toEqual([1, gemma4.tokens.indexOf('<turn|>')]);
});

const file = z.object({
  model: z.object({ vocab: z.record(z.string(), z.int()), merges: z.array(z.unknown()) }),
  added_tokens: z.array(z.object({ id: z.int(), content: z.string() })),
});
/** The embedded model's tokenizer, which has SmolLM's rules. */
const summit = file.parse(JSON.parse(await readFile('models/summit/tokenizer.json', 'utf8')));

function bpeMetadata(more: Readonly<Record<string, Value>> = {}): Record<string, Value> {
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(summit.model.vocab)) tokens[id] = token;
  for (const { content, id } of summit.added_tokens) tokens[id] = content;
  const special = new Set(summit.added_tokens.map(({ id }) => id));
  const merges = summit.model.merges.map((merge) =>
    Array.isArray(merge) ? merge.join(' ') : String(merge),
  );
  return {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text('smollm'),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.token_type': int32s(tokens.map((_, id) => (special.has(id) ? 3 : 1))),
    'tokenizer.ggml.merges': texts(merges),
    'tokenizer.ggml.eos_token_id': uint(summit.added_tokens[0]?.id ?? 0),
    'tokenizer.chat_template': text('{{ messages[0].content }}!'),
    ...more,
  };
}

describe('sampling values of a file', () => {
  const sampling = (values: Readonly<Record<string, Value>>) =>
    bpeMetadata(
      Object.fromEntries(
        Object.entries(values).map(([key, value]) => [`general.sampling.${key}`, value]),
      ),
    );

  test("are the model's defaults", async () => {
    const folder = await textFolder(
      sampling({
        temp: float(0.7),
        top_k: uint(20),
        top_p: float(0.8),
        min_p: float(0.05),
        penalty_repeat: float(1.1),
        mirostat: uint(2),
      }),
    );
    expect(await readGenerationDefaults(folder)).toEqual({
      temperature: 0.7,
      topK: 20,
      topP: 0.8,
      minP: 0.05,
      repetitionPenalty: 1.1,
    });
    // Ends of texts are where they were.
    expect((await TextTokenizer.load(folder)).eosTokenIds).toContain(summit.added_tokens[0]?.id);
    expect(await readGenerationDefaults(await textFolder(bpeMetadata()))).toEqual({});
  });

  test('have tokens that no text has', async () => {
    const suppressed = { 'tokenizer.ggml.suppress_tokens': int32s([7, -1, 5]) };
    const folder = await textFolder(bpeMetadata(suppressed));
    expect(await readBannedWords(folder, [])).toEqual([Int32Array.of(7), Int32Array.of(5)]);
    expect(await readBannedWords(await textFolder(bpeMetadata()), [])).toEqual([]);
  });

  test('mean the same where llama.cpp turns them off', async () => {
    const off = { temp: float(-1), top_k: int(-1), top_p: float(2), min_p: float(-0.1) };
    expect(await readGenerationDefaults(await textFolder(sampling(off)))).toEqual({
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
    });
  });

  test.each([
    ['temp', NaN, 'any number'],
    ['temp', Infinity, 'any number'],
    ['top_p', 0, 'above 0'],
    ['top_k', 2.5, 'an integer'],
    ['min_p', 1.5, 'at most 1'],
    ['penalty_repeat', 0, 'above 0'],
  ])('%s of %d is refused', async (key, value, range) => {
    await expect(textFolder(sampling({ [key]: float(value) }))).rejects.toThrow(
      `model.gguf: metadata "general.sampling.${key}" is ${value}, expected ${range}`,
    );
  });

  test('of another type are refused', async () => {
    await expect(textFolder(sampling({ temp: text('hot') }))).rejects.toThrow(
      'metadata "general.sampling.temp" is not a number',
    );
  });
});

describe('byte-level BPE', () => {
  test('makes the tokens of the tokenizer that it was made from', async () => {
    const original = await TextTokenizer.load('models/summit');
    const tokenizer = await TextTokenizer.load(await textFolder(bpeMetadata()));
    // Where Hugging Face's library takes JavaScript's digits and spaces for Unicode's they differ.
    const plain = tokenizerTexts(1000).filter((each) => !/[\p{No}\p{Nl}٣\ufeff]/u.test(each));
    expect(plain.length).toBeGreaterThan(500);
    for (const each of plain) {
      const options = { addSpecialTokens: true };
      const ids = [...tokenizer.encode(each, options)];
      expect(ids, each).toEqual([...original.encode(each, options)]);
      expect(tokenizer.decode(ids, { skipSpecialTokens: false })).toBe(each);
    }
    const [marker] = summit.added_tokens;
    const found = tokenizer.encode(`a${marker?.content}b`, { addSpecialTokens: false });
    expect(found).toContain(marker?.id);
    expect(tokenizer.isSpecial(marker?.id ?? -1)).toBe(true);
  });

  test('has the chat template', async () => {
    const template = await ChatTemplate.load(await textFolder(bpeMetadata()));
    expect(template?.render([{ role: 'user', content: 'hi' }], { addGenerationPrompt: true })).toBe(
      'hi!',
    );
  });

  test.each([
    ['llama-bpe', "I'LL pay 12345 ½\r\n", "I|'LL|Ġpay|Ġ|123|45|ĠÂ½|čĊ"],
    ['qwen2', 'a  12', 'a|Ġ|Ġ|1|2'],
    ['tekken', 'camelCase', 'camel|Case'],
  ])('%s cuts words in its own way', async (pre, sample, expected) => {
    // Without merges every byte is a token: words show where a merge of two bytes can't reach.
    const folder = await textFolder(bpeMetadata({ 'tokenizer.ggml.pre': text(pre) }));
    const tokenizer = await TextTokenizer.load(folder);
    const cuts = new Set(ends(expected.split('|')));
    const pieces = [...tokenizer.encode(sample, { addSpecialTokens: false })].map(
      (id) => tokenizer.idToToken(id) ?? '',
    );
    const found = new Set(ends(pieces));
    for (const cut of cuts) expect(found, pieces.join('|')).toContain(cut);
  });

  test.each([
    [
      { 'tokenizer.ggml.pre': text('default') },
      'tokenizer.ggml.pre is "default", as old converters',
    ],
    [{ 'tokenizer.ggml.pre': text('viking') }, 'tokenizer.ggml.pre "viking" is not supported'],
    [{ 'tokenizer.ggml.model': text('rwkv') }, 'tokenizer.ggml.model "rwkv" is not supported'],
    [{ 'tokenizer.ggml.merges': texts(['ab']) }, 'the merge "ab" has no two parts'],
    [{ 'tokenizer.ggml.tokens': texts(['a', 'a']) }, 'has the token "a" twice'],
    [{ 'tokenizer.ggml.tokens': uint(3) }, '"tokenizer.ggml.tokens" is not a list of texts'],
  ])('refuses %j', async (change, message) => {
    await expect(textFolder(bpeMetadata(change))).rejects.toThrow(message);
  });
});

/** How many bytes there are up to the end of each piece. */
function ends(pieces: readonly string[]): number[] {
  let sum = 0;
  return pieces.map((piece) => (sum += piece.length));
}
