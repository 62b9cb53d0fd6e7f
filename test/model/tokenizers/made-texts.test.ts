/** Tokenizers in other forms than tokenizer.json, by what their own programs make of texts and chats. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, test } from 'vitest';

import type { ChatMessage } from '../../../src/front/templates/chat-message.ts';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { madeOf, madeTextFolder } from '../../../src/model/tokenizers/made-texts.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Chat {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly object[] | null;
  readonly ids: readonly number[];
}

interface Listed {
  readonly config: object;
  readonly vocab: object;
  readonly merges: string;
  readonly texts: readonly string[];
  readonly ids: readonly (readonly number[])[];
}

interface References {
  readonly texts: readonly string[];
  readonly tekken: {
    readonly config: object;
    readonly ranked: readonly string[];
    readonly ids: readonly (readonly number[])[];
    readonly versions: Readonly<
      Record<
        string,
        { readonly special: readonly object[] | null; readonly chats: readonly Chat[] }
      >
    >;
  };
  readonly kimi: readonly (readonly number[])[];
  readonly gpt2: Listed;
  readonly qwen2: Listed;
}

/** Made by scripts/references/other_tokenizers.py. */
const REFERENCES = JSON.parse(
  readFileSync('test/fixtures/tokenizers/references.json', 'utf8'),
) as References;
const { texts, tekken, kimi } = REFERENCES;

/** A folder with texts, or what becomes JSON, and where its tokenizer.json is made. */
async function made(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    await writeFile(join(folder, name), text);
  }
  return madeTextFolder(folder, join(folder, 'cache'));
}

function tekkenOf(version: string, change: object = {}): object {
  const vocab = tekken.ranked.map((bytes, rank) => ({ rank, token_bytes: bytes, token_str: null }));
  const special = tekken.versions[version]?.special;
  return { config: { ...tekken.config, version }, vocab, special_tokens: special, ...change };
}

async function expectSame(
  folder: string,
  given: readonly string[],
  ids: readonly (readonly number[])[],
): Promise<TextTokenizer> {
  const tokenizer = await TextTokenizer.load(folder);
  for (const [index, text] of given.entries()) {
    // Tekken's program takes markers within a text for letters.
    if (text.includes('[INST]')) continue;
    const got = [...tokenizer.encode(text, { addSpecialTokens: false })];
    expect(got, text).toEqual(ids[index]);
    const back = tokenizer.decode(got, { skipSpecialTokens: false });
    expect([text, text.normalize('NFC')]).toContain(back);
  }
  return tokenizer;
}

describe('tekken.json', () => {
  it('makes the tokens of mistral-common', async () => {
    const tokenizer = await expectSame(
      await made({ 'tekken.json': tekkenOf('v13') }),
      texts,
      tekken.ids,
    );
    const [begin, ...rest] = tokenizer.encode('Hi', { addSpecialTokens: true });
    expect(begin).toBe(tokenizer.bosTokenId);
    expect(rest).toEqual([...tokenizer.encode('Hi', { addSpecialTokens: false })]);
    expect(tokenizer.idToToken(39)).toBe('<SPECIAL_39>');
    expect(tokenizer.eosTokenIds).toEqual([2]);
  });

  test.each(Object.entries(tekken.versions))(
    'chats of %s are written as mistral-common writes them',
    async (version, { chats }) => {
      const folder = await made({ 'tekken.json': tekkenOf(version) });
      const template = await ChatTemplate.load(folder);
      const tokenizer = await TextTokenizer.load(folder);
      for (const { messages, tools, ids } of chats) {
        const options = { addGenerationPrompt: true, tools: tools ?? [] };
        const text = template?.render(messages, options) ?? '';
        const got = [...tokenizer.encode(text, { addSpecialTokens: false })];
        const expected = tokenizer.decode(ids, { skipSpecialTokens: false });
        expect(text, version).toBe(expected);
        expect(got, version).toEqual(ids);
      }
    },
  );

  it("keeps a folder's own template, and its other files", async () => {
    const folder = await made({
      'tekken.json': tekkenOf('v7'),
      'tokenizer_config.json': { chat_template: 'own', clean_up_tokenization_spaces: false },
      'generation_config.json': { eos_token_id: [2, 4] },
    });
    const options = { addGenerationPrompt: true, tools: [] };
    const template = await ChatTemplate.load(folder);
    expect(template?.render([{ role: 'user', content: 'a' }], options)).toBe('own');
    expect((await TextTokenizer.load(folder)).eosTokenIds).toEqual([2, 4]);
  });

  it('has no template for versions that are not known', async () => {
    const folder = await made({
      'tekken.json': tekkenOf('v13', { config: { ...tekken.config, version: 'v15' } }),
    });
    expect(await ChatTemplate.load(folder)).toBeNull();
  });

  it.each([
    [
      { config: { ...tekken.config, version: 'v7', pattern: '(a+)+$' } },
      /by a pattern that is not known/,
    ],
    [
      { config: { ...tekken.config, version: 'v7', default_vocab_size: 10 ** 6 } },
      /has 900 tokens of/,
    ],
    [
      { config: { ...tekken.config, version: 'v7', default_vocab_size: 3 } },
      /has 900 tokens of -37/,
    ],
    [
      { config: { ...tekken.config, version: 'v7', default_num_special_tokens: 900 } },
      /no token for the byte 40/,
    ],
    [{ vocab: [{ rank: 1, token_bytes: 'AA==' }] }, /has 1 tokens of 900/],
    [{ vocab: 'all' }, /is damaged: vocab/],
    [
      { vocab: tekken.ranked.map((_, rank) => ({ rank, token_bytes: 'AA==' })) },
      /has the token "Ā" twice/,
    ],
    [{ special_tokens: [{ rank: 40, token_str: 'a' }] }, /the same rank, or beyond 40/],
    [{ special_tokens: [{ rank: 0, token_str: '<SPECIAL_7>' }] }, /a special token twice/],
  ])('is refused with a reason: %j', async (change, message) => {
    await expect(made({ 'tekken.json': tekkenOf('v7', change) })).rejects.toThrow(message);
  });

  it('is refused where tokens are so long that looking for merges takes minutes', async () => {
    const long = Array.from({ length: 40 }, (_, index) => {
      const token_bytes = Buffer.alloc(2 ** 12, index).toString('base64');
      return { rank: tekken.ranked.length + index, token_bytes };
    });
    const { vocab } = tekkenOf('v7') as { readonly vocab: readonly object[] };
    const config = { ...tekken.config, version: 'v7', default_vocab_size: 980 };
    const file = tekkenOf('v7', { config, vocab: [...vocab, ...long] });
    await expect(made({ 'tekken.json': file })).rejects.toThrow(/too long to look for/);
  });
});

const KIMI_TOKENS = ['[BOS]', '[EOS]', '<|im_end|>', '<|im_middle|>'];
const kimiConfig = {
  tokenizer_class: 'TikTokenTokenizer',
  bos_token: '[BOS]',
  eos_token: '[EOS]',
  added_tokens_decoder: Object.fromEntries(
    KIMI_TOKENS.map((content, index) => [tekken.ranked.length + index, { content, special: true }]),
  ),
};
const ranks = tekken.ranked.map((bytes, rank) => `${bytes} ${rank}\n`).join('');

describe('tiktoken.model', () => {
  it("makes the tokens of tiktoken with Moonshot's pattern", async () => {
    const folder = await made({ 'tiktoken.model': ranks, 'tokenizer_config.json': kimiConfig });
    const tokenizer = await TextTokenizer.load(folder);
    for (const [index, text] of texts.entries()) {
      const got = [...tokenizer.encode(text, { addSpecialTokens: true })];
      expect(got, text).toEqual(kimi[index]);
    }
    expect([...tokenizer.encode('<|im_end|>', { addSpecialTokens: false })]).toEqual([902]);
    expect(tokenizer.isSpecial(902)).toBe(true);
  });

  it.each([
    [ranks, {}, /does not say how texts are cut/],
    [ranks, null, /does not say how texts are cut/],
    [`${ranks}AAAA 7\n`, kimiConfig, /line 901 is not of that rank/],
    [`${ranks}!!!! 900\n`, kimiConfig, /line 901 is not of that rank/],
    [`${ranks}QUJD 900\n`, kimiConfig, /has the id 900 of \[BOS\], too/],
    ['', kimiConfig, /no token for the byte 0/],
  ])('is refused with a reason', async (model, config, message) => {
    const files = { 'tiktoken.model': model, ...(config && { 'tokenizer_config.json': config }) };
    await expect(made(files)).rejects.toThrow(message);
  });
});

describe('vocab.json and merges.txt', () => {
  test.each(['gpt2', 'qwen2'] as const)('make the tokens of Transformers: %s', async (name) => {
    const { config, vocab, merges, texts: given, ids } = REFERENCES[name];
    const files = { 'vocab.json': vocab, 'merges.txt': merges, 'tokenizer_config.json': config };
    await expectSame(await made(files), given, ids);
  });

  it('begin texts where the configuration says so', async () => {
    const { config, vocab, merges } = REFERENCES.gpt2;
    const files = { 'vocab.json': vocab, 'merges.txt': merges };
    const stated = { ...config, add_bos_token: true };
    const folder = await made({ ...files, 'tokenizer_config.json': stated });
    const tokenizer = await TextTokenizer.load(folder);
    expect(tokenizer.encode('a', { addSpecialTokens: true })[0]).toBe(1);
  });

  it.each([
    [
      { tokenizer_class: 'CLIPTokenizer' },
      'a b\n',
      /tokenizer_class "CLIPTokenizer" is not supported/,
    ],
    [
      { tokenizer_class: 'GPT2Tokenizer', add_prefix_space: true },
      '',
      /add_prefix_space is not supported/,
    ],
    [null, '', /tokenizer_class "none" is not supported/],
    [{ tokenizer_class: 'GPT2Tokenizer' }, '#version: 0.2\na b\n', /damaged in line 2/],
    [{ tokenizer_class: 'GPT2Tokenizer' }, 'a', /damaged in line 1/],
  ])('are refused with a reason: %j', async (config, merges, message) => {
    const files = { 'vocab.json': { a: 0, b: 1 }, 'merges.txt': merges };
    const folder = made({ ...files, ...(config && { 'tokenizer_config.json': config }) });
    await expect(folder).rejects.toThrow(message);
  });
});

test('tokenizer.json wins, and a folder without any form is left as it is', async () => {
  expect(madeOf(['tokenizer.json', 'tekken.json'])).toBeNull();
  expect(madeOf(['vocab.json', 'tokenizer.model'])).toBeNull();
  expect(madeOf(['config.json', 'tekken.json', 'other'])).toEqual(['tekken.json', 'config.json']);
  const folder = await temporaryDirectory();
  expect(await madeTextFolder(folder, folder)).toBe(folder);
});
