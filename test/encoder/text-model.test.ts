/** Text encoders in a process of their own, from texts to vectors and scores. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { TEXT_BATCHING } from '../../src/front/batching/default-batching.ts';
import { TextModel } from '../../src/front/embedding/text-model.ts';
import { MissingTokenError } from '../../src/front/text/model-vocabulary.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { encoderFolder, encoderReference, largestDifference } from './support/encoders.ts';

const CALLER = { client: '', signal: new AbortController().signal };
const TOLERANCE = 1e-4;

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function open(name: string, folder = encoderFolder(name)): Promise<TextModel> {
  const model = await TextModel.open({
    folder,
    precision: 'fp32',
    cacheDirectory: cache.path,
    threads: 1,
    tokenizerThreads: 1,
    runTimeoutMs: 60_000,
    batching: TEXT_BATCHING,
  });
  await model.start();
  return model;
}

async function start(name: string, folder?: string): Promise<TextModel> {
  const model = await open(name, folder);
  onTestFinished(() => model.stop());
  return model;
}

function expectNear(vectors: readonly Float32Array[], expected: readonly number[][]): void {
  expect(vectors).toHaveLength(expected.length);
  for (const [row, vector] of expected.entries()) {
    expect(largestDifference(vectors[row] ?? [], vector)).toBeLessThan(TOLERANCE);
  }
}

describe('an embedding model', () => {
  let bert: TextModel;
  beforeAll(async () => {
    bert = await open('bert');
  });
  afterAll(() => bert.stop());

  it('makes vectors of texts and of tokens', async () => {
    const { texts, ids, vectors } = await encoderReference('bert');
    const model = bert;
    expect([model.kind, model.dim, model.maxTokens]).toEqual(['embedding', 16, 16]);
    const ofTexts = await model.embed(texts, { truncate: true }, CALLER);
    expectNear(ofTexts.vectors, vectors);
    expect(ofTexts.numTokens).toBe(ids.flat().length);
    const tokens = ids.map((each) => Int32Array.from(each));
    expectNear((await model.embed(tokens, {}, CALLER)).vectors, vectors);
  });

  it('puts prompts before texts', async () => {
    const { texts, prompt } = await encoderReference('bert');
    const model = bert;
    const { vectors } = await model.embed(
      texts,
      { promptName: prompt?.name ?? '', truncate: true },
      CALLER,
    );
    expectNear(vectors, prompt?.vectors ?? []);
  });

  it('shortens vectors where it is made for that', async () => {
    const { ids, vectors } = await encoderReference('bert');
    const folder = await temporaryDirectory();
    await cp(encoderFolder('bert'), folder, { recursive: true });
    const config = JSON.stringify({ matryoshka_dimensions: [8, 16] });
    await writeFile(join(folder, 'config_sentence_transformers.json'), config);
    const model = await start('bert', folder);
    const tokens = ids.map((each) => Int32Array.from(each));
    const made = await model.embed(tokens, { dimensions: 8 }, CALLER);
    const expected = vectors.map((vector) => {
      const first = vector.slice(0, 8);
      const length = Math.hypot(...first);
      return first.map((value) => value / length);
    });
    expectNear(made.vectors, expected);
    await expect(model.embed(tokens, { dimensions: 4 }, CALLER)).rejects.toThrow(
      "the model's embeddings can have 8, 16 dimensions",
    );
  });

  it('tokenizes long texts in a thread', async () => {
    const model = bert;
    const long = 'the cat sat. '.repeat(1000);
    const { vectors, numTokens } = await model.embed([long, 'a'], { truncate: true }, CALLER);
    expect(numTokens).toBe(model.maxTokens + 3);
    expect(vectors.map(({ length }) => length)).toEqual([16, 16]);
    await expect(model.embed(['a', long], {}, CALLER)).rejects.toMatchObject({
      name: 'TextTooLongError',
      index: 1,
      numTokens: 4002,
      maxTokens: 16,
    });
  });

  it('refuses texts with a token that only the tokenizer has', async () => {
    const folder = await temporaryDirectory();
    await cp(encoderFolder('bert'), folder, { recursive: true });
    const path = join(folder, 'tokenizer.json');
    const tokenizer = z
      .looseObject({ added_tokens: z.array(z.looseObject({})) })
      .parse(JSON.parse(await readFile(path, 'utf8')));
    const config = z
      .looseObject({ vocab_size: z.int() })
      .parse(JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')));
    const { vocab_size: size } = config;
    const [first] = tokenizer.added_tokens;
    tokenizer.added_tokens.push({ ...first, id: size, content: '[NOTE]' });
    await writeFile(path, JSON.stringify(tokenizer));
    const model = await start('bert', folder);
    expect(model.warning).toContain(
      `1 added token that the model does not have: [NOTE] (id ${size})`,
    );
    const reason = `The token \`[NOTE]\` (id ${size}) is in the tokenizer but not in the model, which has ${size} tokens.`;
    const long = `${'the cat sat. '.repeat(1000)}[NOTE]`;
    for (const text of ['the [NOTE]', long]) {
      await expect(model.embed([text], { truncate: true }, CALLER)).rejects.toThrow(
        new MissingTokenError(reason),
      );
    }
    expect((await model.embed(['the cat'], {}, CALLER)).vectors).toHaveLength(1);
    await expect(model.embed([Int32Array.of(size)], {}, CALLER)).rejects.toThrow(
      'is not a token id',
    );

    await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, vocab_size: 20 }));
    await expect(start('bert', folder)).rejects.toThrow(
      /tokenizer\.json: the tokenizer belongs to another model/,
    );
  });

  it('refuses what it cannot do', async () => {
    const model = bert;
    const refusals = [
      model.embed(['a'], { dimensions: 8 }, CALLER),
      model.embed(['a'], { promptName: 'passage' }, CALLER),
      model.embed([Int32Array.of(2, 1000, 3)], {}, CALLER),
      model.embed([new Int32Array()], {}, CALLER),
      model.score([['a', 'b']], {}, CALLER),
    ].map((refusal) => refusal.catch((error: Error) => error.message));
    expect(await Promise.all(refusals)).toEqual([
      "the model's embeddings have 16 dimensions; fewer are not supported",
      'the model has no prompt "passage"; it has document, query',
      expect.stringMatching(/^1000 is not a token id: they go from 0 to \d+$/),
      'an input has no tokens',
      'the model makes embeddings and scores no pairs of texts',
    ]);
  });
});

it('a cross-encoder scores documents for a query', async () => {
  const { query, documents, logits, scores } = await encoderReference('xlm-roberta-reranker');
  const model = await start('xlm-roberta-reranker');
  const made = await model.score(
    documents.map((document) => [query, document] as const),
    {},
    CALLER,
  );
  expect(largestDifference(made.logits, logits)).toBeLessThan(TOLERANCE);
  expect(largestDifference(made.scores, scores)).toBeLessThan(TOLERANCE);
  await expect(model.embed(['a'], {}, CALLER)).rejects.toThrow(
    'the model scores pairs of texts and makes no embeddings',
  );
});
