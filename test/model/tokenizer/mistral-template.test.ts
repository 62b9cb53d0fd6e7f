/** Chats of Mistral's models that come without a template, by what mistral-common writes. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { ChatMessage } from '../../../src/front/templates/chat-message.ts';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { madeTextFolder } from '../../../src/model/tokenizer/made-text-folder.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Chat {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly object[] | null;
  readonly ids: readonly number[];
}

interface References {
  readonly config: object;
  readonly ranked: readonly string[];
  readonly versions: Readonly<
    Record<string, { readonly special: readonly object[] | null; readonly chats: readonly Chat[] }>
  >;
}

/** Made by scripts/references/mistral_chats.py. */
const { config, ranked, versions } = JSON.parse(
  readFileSync('test/fixtures/mistral-chats.json', 'utf8'),
) as References;

/** Where the tokenizer.json of a folder with a tekken.json of that version is made. */
async function made(version: string, files: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryDirectory();
  const vocab = ranked.map((bytes, rank) => ({ rank, token_bytes: bytes }));
  const special = versions[version]?.special;
  const tekken = { config: { ...config, version }, vocab, special_tokens: special };
  const all = { ...files, 'tekken.json': JSON.stringify(tekken) };
  for (const [name, content] of Object.entries(all)) await writeFile(join(folder, name), content);
  return madeTextFolder(folder, join(folder, 'cache'));
}

test.each(Object.entries(versions))('%s', async (version, { chats }) => {
  const folder = await made(version);
  const template = await ChatTemplate.load(folder);
  const tokenizer = await TextTokenizer.load(folder);
  for (const { messages, tools, ids } of chats) {
    const options = { addGenerationPrompt: true, tools: tools ?? [] };
    const text = template?.render(messages, options) ?? '';
    expect(text).toBe(tokenizer.decode(ids, { skipSpecialTokens: false }));
    expect([...tokenizer.encode(text, { addSpecialTokens: false })]).toEqual(ids);
  }
});

test("a folder's own template is kept", async () => {
  const own = JSON.stringify({ chat_template: 'own' });
  const template = await ChatTemplate.load(await made('v7', { 'tokenizer_config.json': own }));
  const options = { addGenerationPrompt: true, tools: [] };
  expect(template?.render([{ role: 'user', content: 'a' }], options)).toBe('own');
});

test.each(['v15', ''])('there is none for version "%s"', async (version) => {
  expect(await ChatTemplate.load(await made(version))).toBeNull();
});
