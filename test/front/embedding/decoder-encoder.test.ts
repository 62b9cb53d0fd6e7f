/** A tiny Qwen3, with what sentence-transformers and Transformers make of texts and pairs. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TextEncoder } from '../../../src/front/embedding/embed-request.ts';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import { cosine, largestDifference } from '../../encoder/support/encoders.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { openDecoder, type OpenOptions, startDecoder } from './support/open-decoder.ts';

const FOLDER = 'test/fixtures/decoder-embedding';
const TOLERANCE = 1e-5;
const CALLER = { client: '', signal: new AbortController().signal };

const cache = await temporaryCache();
// Starting an engine takes longer than most of these tests.
const started = await startDecoder(FOLDER, cache.path);
afterAll(async () => {
  await started.engine.stop();
  await cache.remove();
});

const table = z.array(z.array(z.number()));
const reference = z
  .object({
    texts: z.array(z.string()),
    vectors: table,
    prompt: z.object({ name: z.string(), vectors: table }),
    query: z.string(),
    documents: z.array(z.string()),
    scores: z.array(z.number()),
  })
  .parse(JSON.parse(await readFile(join(FOLDER, 'reference.json'), 'utf8')));

const open = (folder = FOLDER, options: OpenOptions = {}) => openDecoder(started, folder, options);

/** The folder with some files changed. */
async function changed(files: Readonly<Record<string, object | null>>): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(FOLDER, folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    if (content === null) await rm(join(folder, name), { recursive: true });
    else await writeFile(join(folder, name), JSON.stringify(content));
  }
  return folder;
}

const { query, documents } = reference;
const pairs = documents.map((document) => [query, document] as const);

function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: Error) => error.message,
  );
}

describe('embeddings', () => {
  it('are those of sentence-transformers, alone and together, with a prompt and without', async () => {
    const { encoder, tokenizer, admission } = await open();
    const { texts, prompt } = reference;
    const together = await encoder.embed(texts, {}, CALLER);
    const prompted = await encoder.embed(texts, { promptName: prompt.name }, CALLER);
    for (const [at, text] of texts.entries()) {
      const alone = await encoder.embed([text], {}, CALLER);
      expect(largestDifference(alone.vectors[0] ?? [], together.vectors[at] ?? [])).toBeLessThan(
        TOLERANCE,
      );
      for (const [made, expected] of [
        [together, reference.vectors],
        [prompted, prompt.vectors],
      ] as const) {
        expect(largestDifference(made.vectors[at] ?? [], expected[at] ?? [])).toBeLessThan(
          TOLERANCE,
        );
      }
    }
    const ids = texts.map((text) => tokenizer.encode(text, { addSpecialTokens: true }));
    expect(together.numTokens).toBe(ids.reduce((sum, { length }) => sum + length, 0));
    const ofIds = await encoder.embed(ids, {}, CALLER);
    for (const [at, vector] of ofIds.vectors.entries()) {
      expect(largestDifference(vector, together.vectors[at] ?? [])).toBeLessThan(TOLERANCE);
    }
    expect([admission.running, admission.waiting]).toEqual([0, 0]);
  });

  it('keep what ends a text when it is cut, and refuse a text that is too long', async () => {
    const { encoder, tokenizer } = await open(FOLDER, { maxModelLen: 12 });
    const text = reference.texts[2] ?? '';
    const ids = tokenizer.encode(text, { addSpecialTokens: true });
    const kept = Int32Array.of(...ids.slice(0, 11), ids.at(-1) ?? -1);
    const cut = await encoder.embed([text, ids], { truncate: true }, CALLER);
    const expected = await encoder.embed([kept], {}, CALLER);
    for (const vector of cut.vectors) expect(cosine(vector, expected.vectors[0] ?? [])).toBe(1);
    await expect(encoder.embed([text], {}, CALLER)).rejects.toThrow(/takes 12 at most/);
    await expect(encoder.embed([Int32Array.of(265)], {}, CALLER)).rejects.toThrow(
      /265 is not a token id/,
    );
    await expect(encoder.embed([new Int32Array()], {}, CALLER)).rejects.toThrow('has no tokens');
  });

  it('of any model that generates text are normalized, and of its last token', async () => {
    const plain = await open(await changed({ 'modules.json': null }));
    const made = await plain.encoder.embed(reference.texts, {}, CALLER);
    for (const [at, vector] of made.vectors.entries()) {
      expect(largestDifference(vector, reference.vectors[at] ?? [])).toBeLessThan(TOLERANCE);
    }
    await expect(plain.encoder.embed(['a'], { dimensions: 8 }, CALLER)).rejects.toThrow(
      'have 32 dimensions; fewer are not supported',
    );
  });

  it('can be shorter where the model is made for that', async () => {
    const folder = await changed({ 'config_sentence_transformers.json': { is_matryoshka: true } });
    const { encoder } = await open(folder);
    const made = await encoder.embed(reference.texts, { dimensions: 8 }, CALLER);
    for (const [at, vector] of made.vectors.entries()) {
      expect(vector).toHaveLength(8);
      expect(cosine(vector, reference.vectors[at]?.slice(0, 8) ?? [])).toBeCloseTo(1, 5);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    }
  });

  it('are refused with the reason where the model pools otherwise, or asks for more', async () => {
    const mean = await open(await changed({ '1_Pooling/config.json': { pooling_mode: 'mean' } }));
    expect(await messageOf(mean.encoder.embed(['a'], {}, CALLER))).toMatch(
      /only pooling of the last token .* not mean/,
    );
    const more = await open(await changed({ 'modules.json': [{ path: '', type: 'a.LSTM' }] }));
    expect(more.problems).toEqual([expect.stringContaining('a.LSTM')]);
    expect(await messageOf(more.encoder.embed(['a'], {}, CALLER))).toBe(
      'the model makes no embeddings or scores: its modules.json asks for more',
    );
  });
});

describe('scores', () => {
  it("are those of Qwen3-Reranker's published code, the query computed once", async () => {
    const { encoder, engine } = await open();
    const before = { ...engine.stats };
    const { scores, logits, numTokens } = await encoder.score(pairs, {}, CALLER);
    expect(largestDifference(scores, reference.scores)).toBeLessThan(TOLERANCE);
    expect(new Set(scores).size).toBe(documents.length);
    expect(logits.map((logit) => 1 / (1 + Math.exp(-logit)))).toEqual(scores);
    const { prefixCacheHits, prefixCacheQueries } = engine.stats;
    expect(prefixCacheQueries - before.prefixCacheQueries).toBe(numTokens);
    // All but the first find what comes before their documents.
    expect(prefixCacheHits - before.prefixCacheHits).toBeGreaterThan(0.8 * (2 / 3) * numTokens);
  });

  it('lose the end of long documents, and nothing of the template', async () => {
    const { encoder } = await open(FOLDER, { maxModelLen: 400 });
    const long = await encoder.score([[query, 'cat '.repeat(500)]], {}, CALLER);
    expect(long.numTokens).toBe(400);
    const short = await encoder.score([[query, 'cat '.repeat(20)]], {}, CALLER);
    expect(short.numTokens).toBeLessThan(400);
    await expect(
      encoder.score([[query, 'cat '.repeat(500)]], { truncate: false }, CALLER),
    ).rejects.toThrow(/takes 400 at most/);
    await expect(encoder.score([['cat '.repeat(500), 'a']], {}, CALLER)).rejects.toThrow(
      /takes 400 at most/,
    );
  });

  it('take no special tokens from texts', async () => {
    const { encoder, tokenizer } = await open();
    const end = '<|im_end|>';
    const { numTokens } = await encoder.score([[query, end]], {}, CALLER);
    const plain = await encoder.score([[query, '']], {}, CALLER);
    expect(tokenizer.encode(end, { addSpecialTokens: false })).toHaveLength(1);
    expect(numTokens - plain.numTokens).toBe(end.length);
  });

  it('go by the tokens and the template that the folder names', async () => {
    const logitScore = { true_token_id: 10, false_token_id: null };
    const folder = await changed({
      'modules.json': [
        { path: '', type: 'sentence_transformers.base.models.Transformer' },
        { path: '1_LogitScore', type: 'sentence_transformers.cross_encoder.modules.LogitScore' },
      ],
      'tokenizer_config.json': {
        chat_template:
          '{% for m in messages %}{% if m.role == "query" %}Q {% elif m.role == "document" %}D {% endif %}' +
          '{{ m.content }}{% endfor %}',
      },
    });
    await cp(join(folder, '1_Pooling'), join(folder, '1_LogitScore'), { recursive: true });
    await writeFile(join(folder, '1_LogitScore/config.json'), JSON.stringify(logitScore));
    const { encoder, tokenizer } = await open(folder);
    const { numTokens, logits } = await encoder.score([['ab', 'cd']], {}, CALLER);
    expect(numTokens).toBe(tokenizer.encode('Q abD cd', { addSpecialTokens: false }).length);
    expect(logits).toHaveLength(1);
  });
});

describe('many texts', () => {
  const texts = Array.from({ length: 30 }, (_, at) => `text ${at}`);

  async function inOrder(encoder: TextEncoder) {
    const { vectors } = await encoder.embed(texts, {}, CALLER);
    for (const at of [0, 17, 29]) {
      const alone = await encoder.embed([texts[at] ?? ''], {}, CALLER);
      expect(cosine(vectors[at] ?? [], alone.vectors[0] ?? [])).toBeCloseTo(1, 5);
    }
  }

  it('are read though the queue has room for one', async () => {
    const { encoder, admission } = await open(FOLDER, {
      admission: { concurrency: 1, maxQueue: 0 },
    });
    await inOrder(encoder);
    expect(admission.running).toBe(0);
  });

  it('are refused where it has none, and stop when their client leaves', async () => {
    const { encoder, admission, engine } = await open(FOLDER, { admission: { maxQueue: 0 } });
    const release = await Promise.all(
      Array.from({ length: 4 }, () => admission.acquire(CALLER.signal)),
    );
    await expect(encoder.embed(['a'], {}, CALLER)).rejects.toThrow(QueueFullError);
    for (const each of release) each();
    const leaving = new AbortController();
    const before = { ...engine.stats };
    const left = encoder.embed(texts, {}, { client: '', signal: leaving.signal });
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(admission.running + admission.waiting).toBe(0);
    const numQueried = engine.stats.prefixCacheQueries - before.prefixCacheQueries;
    expect(numQueried).toBeLessThan(texts.length * 9);
    await inOrder(encoder);
  });

  it('are charged to the rate of their client, what fails is given back', async () => {
    const { encoder } = await open();
    const charged: number[] = [];
    const meter = {
      async charge(most: number) {
        charged.push(most);
        return async (used: number) => void charged.push(used);
      },
    };
    const { numTokens } = await encoder.embed(texts, {}, { ...CALLER, meter });
    expect(charged).toEqual([numTokens, numTokens]);
    const gone = { client: '', signal: AbortSignal.abort(new Error('gone')), meter };
    await expect(encoder.embed(['abc'], {}, gone)).rejects.toThrow('gone');
    expect(charged.slice(2)).toEqual([charged[2], 0]);
  });
});
