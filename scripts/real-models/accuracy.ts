/**
 * Cost of each format to a real model: its perplexity, how often it thinks the same token the next one
 * as fp32 does, and how far its probabilities are from fp32's (Kullback-Leibler divergence, in nats).
 *
 *   npx tsx scripts/real-models/accuracy.ts [--formats int8/native/float16,int4/onnxruntime/float32]
 *
 * After scripts/real-models/fetch.ts. A format is its weights, whose kernels, and its KV cache. Texts:
 * 20 chats that fp32 continued (their next tokens, and divergence), and stories of
 * models/summit/eval.jsonl (perplexity).
 */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { type BuiltModel, KV_CACHE_DTYPES } from '../../src/model/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { ggufTextFolder } from '../../src/model/gguf/text/text-folder.ts';
import { divergence, normalize, readTexts } from '../bench/lib/lockstep-texts.ts';
import { printTable } from '../bench/lib/table.ts';
import { realModelPath } from './models.ts';

const NAME = 'smollm2-135m-instruct-q4_1';
const NUM_STORIES = 16;
const STORY_TOKENS = 128;
const KERNELS = ['onnxruntime', 'native'] as const;
const ALL = [
  ...['int8', 'int4'].flatMap((precision) => [
    `${precision}/onnxruntime/float32`,
    ...KV_CACHE_DTYPES.map((dtype) => `${precision}/native/${dtype}`),
  ]),
];

const { values } = parseArgs({ options: { formats: { type: 'string', default: ALL.join(',') } } });
const formatSchema = z.tuple([
  z.enum(['fp32', 'int8', 'int4']),
  z.enum(KERNELS),
  z.enum(KV_CACHE_DTYPES),
]);
const formats = values.formats.split(',').map((format) => formatSchema.parse(format.split('/')));

const path = realModelPath(NAME);
const cacheDirectory = defaultCacheDirectory();
const source = { kind: 'folder', path } as const;

function build([precision, kernels, kvCacheDtype]: z.infer<typeof formatSchema>) {
  const options = { precision, cacheDirectory };
  if (kernels === 'native')
    return prepareModel(source, { ...options, nativeKernels: { kvCacheDtype } });
  const calibrates = kvCacheDtype === 'int8';
  return prepareModel(source, calibrates ? { ...options, calibrateKv } : options);
}

const ids = z.array(z.int());
const { transformers } = z
  .object({ transformers: z.object({ cases: z.array(z.object({ ids, greedy: ids })) }) })
  .parse(JSON.parse(await readFile(`test/fixtures/real-models/${NAME}.json`, 'utf8')));
const chats = transformers.cases.map((each) => ({
  tokenIds: Int32Array.from([...each.ids, ...each.greedy.slice(0, -1)]),
  firstAnswer: each.ids.length - 1,
}));
const folder = await ggufTextFolder(path, cacheDirectory);
const { tokenizer } = await loadTextModel({ folder, vocabSize: 49_152 });
const { texts } = await readEvalFile('models/summit/eval.jsonl');
const stories = texts
  .flatMap((text) => text.split('<|im_start|>assistant\n')[1]?.split('<|im_end|>')[0] ?? [])
  .slice(0, NUM_STORIES)
  .map((story) => tokenizer.encode(story, { addSpecialTokens: false }).slice(0, STORY_TOKENS));

/** fp32's log-probabilities after each token of the chats' answers. */
const exact = new Map<string, Float32Array>();

function measure(model: BuiltModel): { perplexity: number; same: number; nats: number } {
  let [loss, numLosses] = [0, 0];
  readTexts(model, stories, 2, (text, position, logits) => {
    const next = stories[text]?.[position + 1];
    if (next === undefined) return;
    loss -= normalize(logits)[next] ?? NaN;
    numLosses++;
  });
  let [same, nats] = [0, 0];
  readTexts(
    model,
    chats.map(({ tokenIds }) => tokenIds),
    2,
    (text, position, logits) => {
      if (position < (chats[text]?.firstAnswer ?? 0)) return;
      const own = normalize(logits);
      const key = `${text}:${position}`;
      const reference = exact.get(key);
      if (!reference) exact.set(key, own.slice());
      else {
        nats += divergence(reference, own) / exact.size;
        same += Number(argmax(reference) === argmax(own));
      }
    },
  );
  return { perplexity: Math.exp(loss / numLosses), same, nats };
}

const first = measure(await prepareModel(source, { precision: 'fp32', cacheDirectory }));
const rows = [['fp32', 'ONNX Runtime', 'float32', first.perplexity.toFixed(3), '', '']];
for (const format of formats) {
  const { perplexity, same, nats } = measure(await build(format));
  const [precision, kernels, kvCacheDtype] = format;
  const whose = kernels === 'native' ? 'our own' : 'ONNX Runtime';
  const agreement = `${same} of ${exact.size}`;
  rows.push([precision, whose, kvCacheDtype, perplexity.toFixed(3), agreement, nats.toFixed(5)]);
  console.error(`${format.join('/')} done`);
}
printTable(['weights', 'kernels', 'KV cache', 'perplexity', 'next tokens', 'divergence'], rows);
