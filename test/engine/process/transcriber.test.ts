/** Windows of features become the tokens of Transformers, through an encoder's process and the engine's. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TENSOR_BATCHING } from '../../../src/front/batching/default-batching.ts';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { Admission, QueueFullError } from '../../../src/front/queue/admission.ts';
import { TensorModel } from '../../../src/front/tensors/tensor-model.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { SpeechEncoder } from '../../../src/front/transcription/speech-encoder.ts';
import {
  type SpeechWindow,
  type SpokenTokens,
  Transcriber,
  type WriteOptions,
} from '../../../src/front/transcription/transcriber.ts';
import { LIMITS } from '../../../src/limits.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { inspectSpeech } from '../../../src/model/speech/speech-folder.ts';
import { speechFolder, speechReference } from '../../support/speech.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const NEVER = new AbortController().signal;
const MAX_TEXT = 48;
const cache = await temporaryCache();
const folder = speechFolder('whisper');
const reference = await speechReference('whisper');
const model = await prepareModel(
  { kind: 'folder', path: folder },
  { precision: 'fp32', cacheDirectory: cache.path },
);
const shape = (await inspectSpeech(folder))?.shape;
if (shape === undefined) throw new Error('the folder hears nothing');

const engine = new EngineClient();
const encoder = new TensorModel({
  source: { type: 'speech', path: folder, cacheDirectory: cache.path },
  threads: 1,
  runTimeoutMs: 60_000,
  batching: TENSOR_BATCHING,
});
const hearing = new SpeechEncoder({ format: shape, encoder });
const generator = new TextGenerator({
  engine,
  tokenizer: await TextTokenizer.load(folder),
  admission: new Admission({ concurrency: 4, maxQueue: 100 }),
  hearing,
  eosTokenIds: [0],
});
const transcriber = new Transcriber({
  generator,
  format: shape,
  maxTextTokens: MAX_TEXT,
  aligner: null,
});

beforeAll(async () => {
  await encoder.start();
  await engine.start({
    model,
    maxNumSeqs: 4,
    maxModelLen: model.manifest.maxPositionEmbeddings,
    maxNumBatchedTokens: 16,
    threads: 1,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
  });
});
afterAll(async () => {
  await Promise.all([encoder.stop(), engine.stop()]);
  await cache.remove();
});

async function heard(name: string): Promise<SpeechWindow> {
  const window = reference.windows[name];
  if (window === undefined) throw new Error(`there is no window ${name}`);
  return transcriber.hear(window.features);
}

async function textOf(pieces: AsyncIterable<SpokenTokens>) {
  const all = { tokenIds: [] as number[], logprobs: [] as number[], finishReason: '' };
  for await (const { tokenIds, logprobs, finishReason } of pieces) {
    all.tokenIds.push(...tokenIds);
    all.logprobs.push(...logprobs);
    all.finishReason = finishReason ?? '';
  }
  return all;
}

async function write(prompt: number, options: Partial<WriteOptions> = {}, signal = NEVER) {
  const { window, ids, greedy } = reference.prompts[prompt] ?? { window: '', ids: [], greedy: [] };
  const all = { maxTokens: greedy.length, ...options };
  return textOf(transcriber.write(await heard(window), Int32Array.from(ids), all, signal));
}

/** After the first prompt, the logarithm of a sum: logits less it are log-probabilities. */
const firstRow = reference.prompts[0]?.logits[0] ?? new Float32Array();
const total = Math.log(firstRow.reduce((sum, logit) => sum + Math.exp(logit), 0));

it('writes what Transformers writes, with how likely each token is', async () => {
  const texts = await Promise.all(reference.prompts.map((_, index) => write(index)));
  expect(texts.map(({ tokenIds }) => tokenIds)).toEqual(
    reference.prompts.map(({ greedy }) => greedy),
  );
  expect(texts.map(({ finishReason }) => finishReason)).toEqual(['length', 'length', 'length']);
  const [{ tokenIds, logprobs } = { tokenIds: [], logprobs: [] }] = texts;
  expect(logprobs).toHaveLength(tokenIds.length);
  expect(logprobs[0]).toBeCloseTo((firstRow[tokenIds[0] ?? 0] ?? 0) - total, 3);
});

it('writes the same after both processes were killed', async () => {
  const { queries, hits } = hearing.counts;
  const text = write(2);
  process.kill(engine.pid ?? 0, 'SIGKILL');
  expect((await text).tokenIds).toEqual(reference.prompts[2]?.greedy);
  process.kill(encoder.pids[0] ?? 0, 'SIGKILL');
  // For another client nothing is known: it is encoded once more.
  const other = await write(2, { caller: { client: 'other', cacheSalt: 'other' } });
  expect(other.tokenIds).toEqual(reference.prompts[2]?.greedy);
  expect(hearing.counts).toEqual({ queries: queries + 2, hits: hits + 1 });
  expect([engine.numCrashes, encoder.numCrashes]).toEqual([1, 1]);
});

it('tells how likely tokens are after a prompt', async () => {
  const { window, ids } = reference.prompts[0] ?? { window: '', ids: [] };
  const a = await heard(window);
  const prompt = Int32Array.from(ids);
  const logits = await transcriber.logitsAfter(a, prompt, Int32Array.of(2, 3), NEVER);
  expect(logits[0]).toBeCloseTo(firstRow[2] ?? 0, 3);
  expect(logits[1]).toBeCloseTo(firstRow[3] ?? 0, 3);
  const logprob = await transcriber.logprobAfter(a, prompt, 8, NEVER);
  expect(logprob).toBeCloseTo((firstRow[8] ?? 0) - total, 3);
});

it('keeps to a rule', async () => {
  const suppressed = Int32Array.from(reference.prompts[0]?.greedy ?? []);
  const rule = { suppressed, suppressedFirst: Int32Array.of() };
  const { tokenIds, logprobs } = await write(0, { rule });
  expect(tokenIds.filter((id) => suppressed.includes(id))).toEqual([]);
  // Among the tokens that are left.
  const left = firstRow.filter((_, id) => !suppressed.includes(id));
  const sum = Math.log(left.reduce((all, logit) => all + Math.exp(logit), 0));
  expect(logprobs[0]).toBeCloseTo((firstRow[tokenIds[0] ?? 0] ?? 0) - sum, 3);
});

it('ends where the positions of texts end, and refuses prompts and windows that do not fit', async () => {
  const { ids = [] } = reference.prompts[0] ?? {};
  const { tokenIds } = await write(0, { maxTokens: 1000 });
  expect(tokenIds.length).toBeLessThanOrEqual(MAX_TEXT - ids.length);
  const a = await heard('a');
  const long = new Int32Array(MAX_TEXT);
  for (const prompt of [long, Int32Array.of()]) {
    const pieces = transcriber.write(a, prompt, { maxTokens: 1 }, NEVER);
    await expect(textOf(pieces)).rejects.toThrow(RangeError);
  }
  await expect(transcriber.hear(new Float32Array(3))).rejects.toThrow(RangeError);
});

it('is left by an aborted request, and holds nothing of it', async () => {
  const controller = new AbortController();
  const reason = new Error('gone');
  const text = write(1, { maxTokens: 40 }, controller.signal);
  controller.abort(reason);
  await expect(text).rejects.toBe(reason);
  expect((await write(1)).tokenIds).toEqual(reference.prompts[1]?.greedy);
});

it('holds no more embeddings than there is room for', async () => {
  const format = { ...shape, hiddenSize: LIMITS.clientSpeechEmbeddingBytes };
  const small = new SpeechEncoder({ format, encoder });
  const a = await heard('a');
  const caller = { client: 'one', signal: NEVER };
  await expect(small.embed(a, '', caller)).rejects.toThrow(QueueFullError);
});
