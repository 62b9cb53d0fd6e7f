/** Tokens of texts by `tokenizer.ggml.pre`, see scripts/references/pre_tokenizers.py for what they are compared with. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { ggufTextFolder } from '../../../src/model/gguf/text/text-folder.ts';
import { ggufBytes, int32s, text, texts, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const vocabularies = z
  .array(
    z.object({
      tokens: z.array(z.string()),
      merges: z.array(z.string()),
      texts: z.array(z.string()),
      /** By name; null where the reference is known to differ. */
      ids: z.record(z.string(), z.array(z.array(z.int()).nullable())),
    }),
  )
  .parse(JSON.parse(gunzipSync(await readFile('test/fixtures/pre-tokenizers.json.gz')).toString()));

type Vocabulary = (typeof vocabularies)[number];

const cases = vocabularies.flatMap((vocabulary) =>
  Object.entries(vocabulary.ids).map(([name, ids]) => ({ name, ids, vocabulary })),
);

async function tokenizerOf(name: string, { tokens, merges }: Vocabulary): Promise<TextTokenizer> {
  const folder = await temporaryDirectory();
  const path = join(folder, 'model.gguf');
  const metadata = {
    'tokenizer.ggml.model': text('gpt2'),
    'tokenizer.ggml.pre': text(name),
    'tokenizer.ggml.tokens': texts(tokens),
    'tokenizer.ggml.token_type': int32s(tokens.map(() => 1)),
    'tokenizer.ggml.merges': texts(merges),
    'tokenizer.ggml.eos_token_id': uint(0),
  };
  await writeFile(path, ggufBytes(metadata));
  return TextTokenizer.load(await ggufTextFolder(path, folder));
}

test.each(cases)('$name: tokens are those of its reference', async ({ name, ids, vocabulary }) => {
  const tokenizer = await tokenizerOf(name, vocabulary);
  const compared = vocabulary.texts.flatMap((each, index) => {
    const expected = ids[index] ?? null;
    return expected === null ? [] : [{ each, expected }];
  });
  expect(compared.length).toBeGreaterThan(45);
  for (const { each, expected } of compared) {
    expect([...tokenizer.encode(each, { addSpecialTokens: false })], each).toEqual(expected);
  }
});

test('many spaces before a number take no longer than they are long', async () => {
  const [vocabulary] = vocabularies;
  if (vocabulary === undefined) throw new Error('there are no vocabularies');
  const tokenizer = await tokenizerOf('deepseek-llm', vocabulary);
  // Tried from each space to the last, they would take minutes.
  const long = `${' '.repeat(500_000)}1`;
  expect(tokenizer.encode(long, { addSpecialTokens: false }).length).toBeGreaterThan(1);
});
