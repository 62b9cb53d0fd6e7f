/** Tokenizers in other forms than tokenizer.json; scripts/references/other_tokenizers.py made the references. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { EncoderTokenizer } from '../../src/front/embedding/encoder-tokenizer.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { madeTextFolder } from '../../src/model/tokenizer/made-text-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const { texts, cases } = z
  .object({
    texts: z.array(z.string()),
    cases: z.array(
      z.object({
        name: z.string(),
        files: z.record(z.string(), z.base64()),
        /** Whether the ids are with what the model wants around a text. */
        special: z.boolean(),
        /** Null where Hugging Face's own library is known to differ. */
        ids: z.array(z.array(z.int()).nullable()),
      }),
    ),
  })
  .parse(
    JSON.parse(gunzipSync(await readFile('test/fixtures/other-tokenizers.json.gz')).toString()),
  );

type Files = Readonly<Record<string, string | Buffer>>;

async function folderOf(files: Files): Promise<string> {
  const folder = join(await temporaryDirectory(), 'model');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

function filesOf(name: string): Record<string, Buffer> {
  const found = cases.find((each) => each.name === name);
  const files = Object.entries(found?.files ?? {});
  return Object.fromEntries(files.map(([file, base64]) => [file, Buffer.from(base64, 'base64')]));
}

async function made(files: Files): Promise<string> {
  return madeTextFolder(await folderOf(files), await temporaryDirectory());
}

test.each(cases)('$name: tokens are those of its own program', async ({ name, special, ids }) => {
  const folder = await made(filesOf(name));
  expect(texts.length).toBeGreaterThan(60);
  const encode = name.startsWith('bert')
    ? await encoderOf(folder)
    : await decoderOf(folder, special);
  const wrong = texts.filter((text, index) => {
    const expected = ids[index] ?? null;
    return expected !== null && encode(text).join() !== expected.join();
  });
  expect(wrong).toEqual([]);
});

async function decoderOf(folder: string, addSpecialTokens: boolean) {
  const tokenizer = await TextTokenizer.load(folder);
  return (text: string) => tokenizer.encode(text, { addSpecialTokens });
}

async function encoderOf(folder: string) {
  const tokenizer = await EncoderTokenizer.load({ folder });
  return (text: string) => tokenizer.encode([text], { maxTokens: 10_000, truncate: false }).ids;
}

test('it is made once, and not at all where there is a tokenizer.json', async () => {
  const cache = await temporaryDirectory();
  const folder = await folderOf(filesOf('bpe'));
  const first = await madeTextFolder(folder, cache);
  expect(await madeTextFolder(folder, cache)).toBe(first);
  expect(await readdir(join(cache, 'made-tokenizers'))).toHaveLength(1);
  await writeFile(join(folder, 'tokenizer_config.json'), '{"legacy":false}');
  expect(await madeTextFolder(folder, cache)).not.toBe(first);
  await writeFile(join(folder, 'tokenizer.json'), '{}');
  expect(await madeTextFolder(folder, cache)).toBe(folder);
});

test('words that were kept free have the names that a model gave them', async () => {
  const added = { 5: { content: '<|im_end|>', special: true } };
  const folder = await made({
    ...filesOf('bpe'),
    'tokenizer_config.json': JSON.stringify({ added_tokens_decoder: added }),
  });
  const tokenizer = await TextTokenizer.load(folder);
  expect([...tokenizer.encode('<|im_end|>', { addSpecialTokens: true })]).toEqual([1, 5]);
});

test("Hunyuan's special tokens come after its words, of which one that is listed twice counts once", async () => {
  const files = filesOf('hunyuan');
  const numTokens =
    new Set(
      String(files['hy.tiktoken'])
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).size - 1;
  const tokenizer = await TextTokenizer.load(await made(files));
  const text = '<|endoftext|><|startoftext|><|extra_4|><|extra_204|>';
  expect([...tokenizer.encode(text, { addSpecialTokens: true })]).toEqual(
    [0, 1, 9, 209].map((place) => numTokens + place),
  );
});

const ranks = (change: (lines: string[]) => void) => {
  const { 'tiktoken.model': list, ...others } = filesOf('tiktoken');
  const lines = String(list).split('\n');
  change(lines);
  return { ...others, 'tiktoken.model': lines.join('\n') };
};

test.each<[string, Files, RegExp]>([
  ['no protobuf', { 'tokenizer.model': 'text' }, /damaged, or no model of SentencePiece/],
  [
    'ranks',
    { 'tokenizer.model': 'IQ== 0\nIg== 1\n' },
    /can't be read, since it is a list of ranks/,
  ],
  [
    'a pointer',
    { 'tokenizer.model': 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' },
    /is a Git LFS pointer/,
  ],
  [
    'cut off',
    { 'tokenizer.model': filesOf('bpe')['tokenizer.model']?.subarray(0, 500) ?? '' },
    /damaged/,
  ],
  [
    'words of another class',
    { ...filesOf('bpe'), 'tokenizer_config.json': '{"tokenizer_class":"T5Tokenizer"}' },
    /can't be read, since tokens of a T5Tokenizer are not those of its file; .*save_pretrained/,
  ],
  [
    'code of its own',
    { ...filesOf('tiktoken'), 'tokenizer_config.json': '{}' },
    /can't be read, since how it cuts texts into words is in code of its own; .*save_pretrained/,
  ],
  ['ranks twice', ranks((lines) => (lines[300] = lines[299] ?? '')), /order of their ranks/],
  [
    'a token twice',
    ranks((lines) => (lines[300] = `${lines[299]?.split(' ')[0]} 300`)),
    /token twice/,
  ],
  ['no base64', ranks((lines) => (lines[300] = '!! 300')), /no base64/],
  [
    'long tokens',
    ranks((lines) => (lines[300] = `${Buffer.alloc(60_000, 'a').toString('base64')} 300`)),
    /too long/,
  ],
  [
    'a class that is not known',
    { ...filesOf('GPT2Tokenizer'), 'tokenizer_config.json': '{"tokenizer_class":"CLIPTokenizer"}' },
    /can't be read, since it is of the class CLIPTokenizer; /,
  ],
  [
    'a merge to nothing',
    { ...filesOf('GPT2Tokenizer'), 'merges.txt': 'zz qq\n' },
    /the merge "zz qq" makes no token/,
  ],
  [
    'no words',
    { 'vocab.txt': 'a\nb\n', 'config.json': '{"model_type":"bert"}' },
    /no word "\[CLS\]"/,
  ],
  ['tekken of another shape', { 'tekken.json': '{"config":{}}' }, /damaged: .*pattern/],
])('%s: it is refused', async (_, files, message) => {
  await expect(made(files)).rejects.toThrow(message);
});
