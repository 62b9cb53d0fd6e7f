import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { PromptPool } from '../../../src/front/prompts/prompt-pool.ts';
import { loadTextModel } from '../../../src/front/prompts/load-text-model.ts';
import { MissingTokenError } from '../../../src/front/text/model-vocabulary.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SUMMIT = 'models/summit';
const SIZE = 4096;
const ADDED = { single_word: false, lstrip: false, rstrip: false, normalized: false };
const NOTE = { id: SIZE, content: '<|note|>', special: true, ...ADDED };
const REASON =
  'The token `<|note|>` (id 4096) is in the tokenizer but not in the model, which has 4096 tokens.';

type File = Record<string, unknown> & { added_tokens: object[]; model: { vocab: object } };
let tokenizer: File;
beforeAll(async () => {
  tokenizer = JSON.parse(await readFile(join(SUMMIT, 'tokenizer.json'), 'utf8')) as File;
});

/** A folder with the texts of summit, some of them others. */
async function folderWith(changes: Readonly<Record<string, object>>): Promise<string> {
  const folder = await temporaryDirectory();
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json']) {
    await cp(join(SUMMIT, name), join(folder, name));
  }
  for (const [name, content] of Object.entries(changes)) {
    await writeFile(join(folder, name), JSON.stringify(content));
  }
  return folder;
}

const withNote = (more: object = {}) => ({
  'tokenizer.json': {
    ...tokenizer,
    added_tokens: [...tokenizer.added_tokens, NOTE],
    ...more,
  },
});

test('a tokenizer of the same size warns of nothing', async () => {
  expect((await loadTextModel({ folder: SUMMIT, vocabSize: SIZE })).warnings).toEqual([]);
});

test('an added token that the model lacks: a warning, and texts with it are refused', async () => {
  const folder = await folderWith(withNote());
  const source = { folder, vocabSize: SIZE };
  const { tokenizer: loaded, chat, warnings } = await loadTextModel(source);
  expect(warnings).toEqual([
    'the tokenizer has 1 added token that the model does not have: <|note|> (id 4096). ' +
      'The model has 4096 tokens; prompts with others are refused',
  ]);
  expect(loaded.vocabSize).toBe(SIZE);
  const options = { addSpecialTokens: true };
  expect(loaded.encode('a note', options).length).toBeGreaterThan(0);
  expect(() => loaded.encode('a <|note|>', options)).toThrow(new MissingTokenError(REASON));
  const messages = [{ role: 'user', content: 'a <|note|>' }];
  const rendered = chat?.render(messages, { addGenerationPrompt: true });
  expect(Math.max(...(rendered?.encode() ?? []))).toBeLessThan(SIZE);

  const pool = new PromptPool(source, { maxThreads: 1 });
  const job = {
    type: 'texts',
    texts: ['a <|note|>'],
    addSpecialTokens: true,
    maxTokens: 99,
  } as const;
  const signal = new AbortController().signal;
  await expect(pool.run(job, { client: '', signal })).rejects.toThrow(
    new MissingTokenError(REASON),
  );
  pool.close();
});

test('where the chat template writes it, and where it alone ends texts, that is said', async () => {
  const folder = await folderWith({
    ...withNote(),
    'tokenizer_config.json': {
      eos_token: '<|note|>',
      chat_template: '{% for m in messages %}<|note|>{{ m.content }}{% endfor %}',
    },
    'generation_config.json': { eos_token_id: [SIZE] },
  });
  const { tokenizer: loaded, chat, warnings } = await loadTextModel({ folder, vocabSize: SIZE });
  expect(warnings.slice(1)).toEqual([
    `chats are refused, because of the chat template: ${REASON}`,
    'no token of the model ends a text',
  ]);
  expect(loaded.eosTokenIds).toEqual([]);
  const rendered = chat?.render([{ role: 'user', content: 'a' }], { addGenerationPrompt: true });
  expect(() => rendered?.encode()).toThrow(REASON);
});

test('a tokenizer that adds it to each text is refused', async () => {
  const ids = { '<|note|>': { id: '<|note|>', ids: [SIZE], tokens: ['<|note|>'] } };
  const first = { SpecialToken: { id: '<|note|>', type_id: 0 } };
  const sequence = { Sequence: { id: 'A', type_id: 0 } };
  const template = { single: [first, sequence], pair: [first, sequence] };
  const post_processor = { type: 'TemplateProcessing', ...template, special_tokens: ids };
  const folder = await folderWith(withNote({ post_processor }));
  await expect(loadTextModel({ folder, vocabSize: SIZE })).rejects.toThrow(
    `${folder}: no text can be tokenized: ${REASON}`,
  );
});

test("another model's tokenizer is refused", async () => {
  await expect(loadTextModel({ folder: SUMMIT, vocabSize: 4000 })).rejects.toThrow(
    /tokenizer\.json: the tokenizer belongs to another model: it has 4096 tokens and the model 4000, and any text may come to .* \(id 4\d{3}\), .* and 91 more/,
  );
});

test.each([
  ['Quantum', '"Quantum"'],
  [7, '7'],
])('model.type %j is refused', async (type, shown) => {
  const model = { ...tokenizer.model, type };
  const folder = await folderWith({ 'tokenizer.json': { ...tokenizer, model } });
  await expect(loadTextModel({ folder, vocabSize: SIZE })).rejects.toThrow(
    `tokenizer.json: model.type ${shown} is not supported (supported: BPE, Unigram, WordLevel, WordPiece)`,
  );
});

test('an old file without model.type is read by its fields', async () => {
  const { type: _, ...model } = tokenizer.model as Record<string, unknown>;
  const folder = await folderWith({ 'tokenizer.json': { ...tokenizer, model } });
  const { tokenizer: loaded } = await loadTextModel({ folder, vocabSize: SIZE });
  const { tokenizer: original } = await loadTextModel({ folder: SUMMIT, vocabSize: SIZE });
  const options = { addSpecialTokens: false };
  expect(loaded.encode('The capital of France', options)).toEqual(
    original.encode('The capital of France', options),
  );
});
