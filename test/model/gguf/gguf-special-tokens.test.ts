/** Tokens of GGUF files that begin and end texts, by what llama.cpp b11434 and Transformers have for the same models. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { ggufTextFolder } from '../../../src/model/gguf/text/text-folder.ts';
import {
  bool,
  float32s,
  ggufBytes,
  int32s,
  text,
  texts,
  uint,
  type Value,
} from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;

/** Files' special tokens in place of whole vocabularies. */
async function folderOf(
  special: readonly (readonly [string, number])[],
  more: Readonly<Record<string, Value>> = {},
): Promise<string> {
  const folder = await temporaryDirectory();
  const path = join(folder, 'model.gguf');
  const letters = ['a', 'b', 'Ġ', 'Ċ'];
  const metadata = {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text('gpt-4o'),
    'tokenizer.ggml.tokens': texts([...letters, ...special.map(([token]) => token)]),
    'tokenizer.ggml.token_type': int32s([
      ...letters.map(() => NORMAL),
      ...special.map(([, type]) => type),
    ]),
    'tokenizer.ggml.merges': texts([]),
    ...more,
  };
  await writeFile(path, ggufBytes(metadata));
  return ggufTextFolder(path, folder);
}

/** Texts of the tokens that end answers. */
async function endsOf(
  special: readonly (readonly [string, number])[],
  more: Readonly<Record<string, Value>> = {},
): Promise<string[]> {
  const tokenizer = await TextTokenizer.load(await folderOf(special, more));
  return tokenizer.eosTokenIds.map((id) => tokenizer.idToToken(id) ?? '').toSorted();
}

const eos = (id: number) => ({ 'tokenizer.ggml.eos_token_id': uint(id) });
const control = (...tokens: string[]) => tokens.map((token) => [token, CONTROL] as const);

test("gpt-oss: a thought's end is none of the answer, a call's is", async () => {
  const harmony = control('<|endoftext|>', '<|return|>', '<|call|>', '<|end|>', '<|channel|>');
  expect(await endsOf(harmony, eos(5))).toEqual(['<|call|>', '<|endoftext|>', '<|return|>']);
});

test('Phi: the end of a message is one', async () => {
  expect(await endsOf(control('<|endoftext|>', '<|end|>'), eos(4))).toEqual([
    '<|endoftext|>',
    '<|end|>',
  ]);
});

test("Gemma: the text's end, also where the file names the turn's", async () => {
  expect(await endsOf(control('<eos>', '<end_of_turn>'), eos(5))).toEqual([
    '<end_of_turn>',
    '<eos>',
  ]);
});

test('GLM: a turn of the user, or of a tool', async () => {
  const glm = control('<|endoftext|>', '[gMASK]', '<|user|>', '<|observation|>', '<|assistant|>');
  expect(await endsOf(glm, eos(4))).toEqual(['<|endoftext|>', '<|observation|>', '<|user|>']);
  expect(await endsOf(control('<|endoftext|>', '<|user|>'), eos(4))).toEqual(['<|endoftext|>']);
});

test('Llama 4: the end of a turn and of a message', async () => {
  expect(await endsOf(control('<|end_of_text|>', '<|eom|>', '<|eot|>'), eos(6))).toEqual([
    '<|end_of_text|>',
    '<|eom|>',
    '<|eot|>',
  ]);
});

test('</s> ends texts where it is a marker: Qwen has the tag as a word', async () => {
  const chat = control('<|im_end|>');
  expect(await endsOf([['</s>', NORMAL], ...chat], eos(5))).toEqual(['<|im_end|>']);
  expect(await endsOf([['</s>', USER_DEFINED], ...chat], eos(5))).toEqual(['<|im_end|>']);
  expect(await endsOf([['</s>', CONTROL], ...chat], eos(5))).toEqual(['</s>', '<|im_end|>']);
});

test("Ollama's converter lists all ends", async () => {
  const list = { 'tokenizer.ggml.eos_token_ids': int32s([4, 5]) };
  expect(await endsOf(control('<x>', '<y>', '<z>'), { ...eos(4), ...list })).toEqual([
    '<x>',
    '<y>',
  ]);
});

test('an end that the file calls a word is a token of its own, as prompts have it', async () => {
  const tokenizer = await TextTokenizer.load(await folderOf([['<|im_end|>', NORMAL]], eos(0)));
  expect([...tokenizer.encode('a<|im_end|>b', { addSpecialTokens: false })]).toEqual([0, 4, 1]);
});

/** By SentencePiece: special tokens after `<unk>`, and words of letters. */
function pieces(special: readonly string[], more: Readonly<Record<string, Value>>) {
  const words = ['▁', '▁▁', 'a', 'b'];
  const tokens = ['<unk>', ...special, ...words];
  return {
    'tokenizer.ggml.model': text('llama'),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.scores': float32s(tokens.map((_, id) => -id)),
    'tokenizer.ggml.token_type': int32s([
      UNKNOWN,
      ...special.map((token) => (token === '</s>' ? USER_DEFINED : CONTROL)),
      ...words.map(() => NORMAL),
    ]),
    'tokenizer.ggml.bos_token_id': uint(1),
    'tokenizer.ggml.eos_token_id': uint(2),
    ...more,
  };
}

test("Phi-3: spaces after all markers but a text's own vanish, after </s> too", async () => {
  const special = ['<s>', '</s>', '<|endoftext|>', '<|user|>'];
  const metadata = pieces(special, { 'general.architecture': text('phi3') });
  const tokenizer = await TextTokenizer.load(await folderOf([], metadata));
  const tokens = (each: string) =>
    [...tokenizer.encode(each, { addSpecialTokens: false })].map((id) => tokenizer.idToToken(id));
  expect(tokens('</s>  a')).toEqual(['</s>', '▁', 'a']);
  expect(tokens('<|user|>\n a')).toEqual(['<|user|>', '▁', 'a']);
  expect(tokens('<s>  a')).toEqual(['<s>', '▁▁', '▁', 'a']);
});

test("Gemma's texts begin with no space, also where a file of Ollama's does not say", async () => {
  const special = ['<s>', '</s>'];
  const tokens = async (architecture: string) => {
    const metadata = pieces(special, { 'general.architecture': text(architecture) });
    const tokenizer = await TextTokenizer.load(await folderOf([], metadata));
    const ids = [...tokenizer.encode('a', { addSpecialTokens: false })];
    return ids.map((id) => tokenizer.idToToken(id));
  };
  expect(await tokens('gemma3')).toEqual(['a']);
  expect(await tokens('llama')).toEqual(['▁', 'a']);
});

test("Mistral's turns have the one space that the template writes, as its own tokenizer makes them", async () => {
  const special = ['<s>', '</s>', '[INST]', '[/INST]'];
  const tokenizer = await TextTokenizer.load(await folderOf([], pieces(special, {})));
  const plain = { addSpecialTokens: false };
  const tokens = (each: string) =>
    [...tokenizer.encode(each, plain)].map((id) => tokenizer.idToToken(id));
  // mistral-common 1.13 gives [1, 3, 12782, 4] for "hi" with the vocabularies v2, v3 and v7: 12782 is "▁hi".
  expect(tokens('<s>[INST] a[/INST] b</s>')).toEqual([
    '<s>',
    '[INST]',
    '▁',
    'a',
    '[/INST]',
    '▁',
    'b',
    '</s>',
  ]);
  expect(tokens('a b')).toEqual(['▁', 'a', '▁', 'b']);
  // As SentencePiece: a space of the text's own is one more.
  expect(tokens(' a')).toEqual(['▁▁', 'a']);
  expect(tokenizer.decode(tokenizer.encode('a b', plain), { skipSpecialTokens: false })).toBe(
    'a b',
  );
});

const begin = (template: string, addsBos?: boolean) => ({
  ...eos(5),
  'tokenizer.ggml.bos_token_id': uint(4),
  'tokenizer.chat_template': text(template),
  ...(addsBos !== undefined && { 'tokenizer.ggml.add_bos_token': bool(addsBos) }),
});

test.each([
  // As Unsloth writes files, for llama.cpp adds the token.
  ['{{ messages[0].content }}', true, '<s>hi'],
  ['\n{{ messages[0].content }}', true, '<s>\nhi'],
  ['{{ bos_token }}{{ messages[0].content }}', true, '<s>hi'],
  ['{{ "<s>" }}{{ messages[0].content }}', true, '<s>hi'],
  ['{{ messages[0].content }}', false, 'hi'],
  ['{{ messages[0].content }}', undefined, 'hi'],
])('the prompt of %j where texts begin with a token: %s', async (template, addsBos, prompt) => {
  const folder = await folderOf(control('<s>', '</s>'), begin(template, addsBos));
  const chat = await ChatTemplate.load(folder);
  const messages = [{ role: 'user', content: 'hi' }];
  expect(chat?.render(messages, { addGenerationPrompt: true })).toBe(prompt);
});
