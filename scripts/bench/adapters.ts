/**
 * Cost to a step of LoRA adapters that requests pick: 16 texts that decode, with 0, 1, 4 and 8 different
 * random adapters of rank 16 for all linear layers, beside the model without room for any, and with one
 * merged. Then whether texts of 8 adapters in one batch are what each is alone.
 * `npx tsx scripts/bench/adapters.ts [folder or preset] [precision] [native or onnxruntime]`
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import type { EngineAdapter } from '../../src/engine/request.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { prepareLiveAdapter } from '../../src/model/adapters/live-adapter-file.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { type KernelSet, type Precision, PRECISIONS } from '../../src/model/manifest.ts';
import { inspectSource, type ModelSource } from '../../src/model/build/model-source.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { layerMatrices } from '../../src/model/graph/layer-matrices.ts';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import {
  floatTensor,
  type RawTensor,
  writeSafetensors,
} from '../../test/support/safetensors-writer.ts';

const RANK = 16;
/** Large enough that each adapter says something else. */
const ALPHA = 100 * RANK;
const ROWS = 16;
const ADAPTERS = 8;
const PROMPT_TOKENS = 16;
const MAX_LENGTH = 256;
/** One after the other in each round, so that what else the machine does meets all. */
const ROUNDS = 9;
const WARM_UP_STEPS = 3;
const STEPS = 15;
/** Tokens of each text that is compared. */
const COMPARED_TOKENS = 48;

async function randomAdapter(folder: string, config: DecoderConfig, seed: number): Promise<void> {
  const random = new RandomWeights(seed);
  const tensors: Record<string, RawTensor> = {};
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const { tensors: parts, columns } of layerMatrices(config, layer)) {
      for (const { name, rows } of parts) {
        const base = `base_model.model.${name.replace('.weight', '')}`;
        const shapes = { lora_A: [RANK, columns], lora_B: [rows, RANK] };
        for (const [part, shape] of Object.entries(shapes)) {
          const key = `${base}.${part}.weight`;
          tensors[key] = floatTensor(shape, await random.get(key, shape));
        }
      }
    }
  }
  await mkdir(folder, { recursive: true });
  await writeSafetensors(join(folder, 'adapter_model.safetensors'), tensors);
  const adapter = { peft_type: 'LORA', r: RANK, lora_alpha: ALPHA };
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify(adapter));
}

/** @param slot tells its prompt, too */
function textOf(slot: number, adapter: EngineAdapter | null): Sequence {
  const promptTokenIds = Int32Array.from({ length: PROMPT_TOKENS }, (_, at) => 3 + at + slot);
  return new Sequence(engineRequest({ promptTokenIds, adapter }));
}

/** One step of all: the prompt, or the token appended last. */
function step(decoder: CpuDecoder, texts: readonly Sequence[], isFirst: boolean): Float32Array[] {
  const segments = texts.map((text, slot) => {
    text.slot = slot;
    return segmentOf(text, isFirst ? PROMPT_TOKENS : 1, isFirst ? 0 : text.numTokens - 1);
  });
  const { logits } = decoder.execute({ cacheOperations: [], segments });
  return texts.map((text) => {
    const found = logits.find(({ segment }) => segment.sequence === text);
    return found?.logits[0] ?? new Float32Array();
  });
}

/** Milliseconds of steps of one round. */
function measure(decoder: CpuDecoder, adapters: readonly EngineAdapter[]): number[] {
  const texts = Array.from({ length: ROWS }, (_, slot) =>
    textOf(slot, adapters[slot % Math.max(1, adapters.length)] ?? null),
  );
  const times: number[] = [];
  for (let done = 0; done < WARM_UP_STEPS + STEPS; done++) {
    const startedAt = performance.now();
    step(decoder, texts, done === 0);
    if (done >= WARM_UP_STEPS) times.push(performance.now() - startedAt);
    for (const text of texts) text.append(3 + done);
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** Logits of texts whose greedy tokens are computed together. */
function generate(decoder: CpuDecoder, texts: readonly Sequence[]): Float32Array[][] {
  const all: Float32Array[][] = texts.map(() => []);
  for (let done = 0; done < COMPARED_TOKENS; done++) {
    for (const [index, logits] of step(decoder, texts, done === 0).entries()) {
      all[index]?.push(logits.slice());
      texts[index]?.append(argmax(logits));
    }
  }
  return all;
}

function tokensOf(logits: readonly Float32Array[]): string {
  return logits.map((each) => argmax(each)).join(' ');
}

function compare(decoder: CpuDecoder, adapters: readonly (EngineAdapter | null)[]): void {
  // All texts have one prompt: only adapters tell them apart.
  const texts = () => adapters.map((adapter) => textOf(0, adapter));
  const together = generate(decoder, texts());
  const alone = texts().flatMap((text) => generate(decoder, [text]));
  const tokens = new Set(alone.map(tokensOf));
  let same = 0;
  let largest = 0;
  for (const [index, expected] of alone.entries()) {
    const actual = together[index] ?? [];
    same += tokensOf(actual) === tokensOf(expected) ? 1 : 0;
    for (const [at, logits] of expected.entries()) {
      const other = actual[at] ?? new Float32Array();
      for (const [id, value] of logits.entries()) {
        largest = Math.max(largest, Math.abs(value - (other[id] ?? NaN)));
      }
      // After another token it is another text.
      if (argmax(logits) !== argmax(other)) break;
    }
  }
  console.log(
    `${adapters.length - 1} adapters and the model in one batch: ${same} of ${adapters.length} texts ` +
      `of ${COMPARED_TOKENS} tokens as alone (${tokens.size} different ones), ` +
      `largest difference of a logit, up to a text's first other token, ${largest.toExponential(1)}`,
  );
}

const [model = 'models/summit', wanted = 'fp32', given] = process.argv.slice(2);
const precision: Precision = PRECISIONS.find((name) => name === wanted) ?? 'fp32';
const hasNative = precision === 'int8' || precision === 'int4';
const kernels: KernelSet = given === 'onnxruntime' || !hasNative ? 'onnxruntime' : 'native';
const nativeKernels = kernels === 'native' ? ({ kvCacheDtype: 'float16' } as const) : undefined;
const preset = Object.entries(PRESETS).find(([name]) => name === model)?.[1];
const source: ModelSource = preset
  ? { kind: 'random', config: preset, seed: 1 }
  : { kind: 'folder', path: model };
const cacheDirectory = defaultCacheDirectory();
const found = await inspectSource(source, undefined);
if (found.kind === 'export') throw new Error(`${model} is an export`);
const folder = await mkdtemp(join(tmpdir(), 'chairlift-adapters-'));
try {
  const adapters: EngineAdapter[] = [];
  for (let seed = 0; seed < ADAPTERS; seed++) {
    const adapter = join(folder, String(seed));
    await randomAdapter(adapter, found.config, seed);
    const file = await prepareLiveAdapter(adapter, found.config, RANK, kernels, folder);
    adapters.push({ ...file, scale: 1 });
  }
  const open = async (of: ModelSource, maxAdapterRank?: number) => {
    const options = { precision, cacheDirectory, maxAdapterRank, nativeKernels };
    const built = await prepareModel(of, options);
    const limits = { maxActive: ADAPTERS, maxCached: ADAPTERS };
    return new CpuDecoder(built, { numSlots: ROWS, maxModelLen: MAX_LENGTH, adapters: limits });
  };
  const alone = await open(source);
  const live = await open(source, RANK);
  const merged = source.kind === 'folder' && { ...source, adapter: join(folder, '0') };
  const cases = [
    { name: 'the model alone', decoder: alone, count: 0 },
    ...(merged ? [{ name: 'one, merged', decoder: await open(merged), count: 0 }] : []),
    ...[0, 1, 4, 8].map((count) => ({ name: `${count} live`, decoder: live, count })),
  ];
  const times = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, decoder, count } of cases) {
      const measured = measure(decoder, adapters.slice(0, count));
      times.set(name, [...(times.get(name) ?? []), ...measured]);
    }
  }
  const base = median(times.get('the model alone') ?? []);
  console.log(`${model}, ${precision}, ${kernels}, ${ROWS} texts, adapters of rank ${RANK}`);
  for (const [name, measured] of times) {
    const ms = median(measured);
    console.log(name.padEnd(16), ms.toFixed(2).padStart(7), 'ms', (ms / base).toFixed(2));
  }
  compare(live, [null, ...adapters]);
  for (const decoder of new Set(cases.map((each) => each.decoder))) decoder.release();
} finally {
  await rm(folder, { recursive: true, force: true });
}
