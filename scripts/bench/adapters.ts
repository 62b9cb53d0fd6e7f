/**
 * What LoRA adapters that requests pick cost a step: 16 texts that decode, with 0, 1, 4 and 8 different
 * random adapters of rank 16 for all linear layers. `npx tsx scripts/bench/adapters.ts [folder] [precision]`
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import type { EngineAdapter } from '../../src/engine/request.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { prepareLiveAdapter } from '../../src/model/adapters/live-adapter-file.ts';
import { defaultCacheDirectory } from '../../src/model/build/cache-directory.ts';
import { type Precision, PRECISIONS } from '../../src/model/build/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { layerMatrices } from '../../src/model/graph/layer-matrices.ts';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import { inspectModelFolder } from '../../src/model/huggingface/model-folder.ts';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import {
  floatTensor,
  type RawTensor,
  writeSafetensors,
} from '../../test/support/safetensors-writer.ts';

const RANK = 16;
const ROWS = 16;
const PROMPT_TOKENS = 16;
const WARM_UP_STEPS = 5;
const STEPS = 40;

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
  const adapter = { peft_type: 'LORA', r: RANK, lora_alpha: RANK };
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify(adapter));
}

/** Milliseconds of the median step. */
function measure(decoder: CpuDecoder, adapters: readonly EngineAdapter[]): number {
  const sequences = Array.from({ length: ROWS }, (_, slot) => {
    const promptTokenIds = Int32Array.from({ length: PROMPT_TOKENS }, (__, at) => 3 + at + slot);
    const adapter = adapters[slot % Math.max(1, adapters.length)] ?? null;
    const sequence = new Sequence(engineRequest({ promptTokenIds, adapter }));
    sequence.slot = slot;
    return sequence;
  });
  const times: number[] = [];
  for (let step = 0; step < WARM_UP_STEPS + STEPS; step++) {
    const segments = sequences.map((sequence) =>
      segmentOf(sequence, step === 0 ? PROMPT_TOKENS : 1, step === 0 ? 0 : sequence.numTokens - 1),
    );
    const startedAt = performance.now();
    decoder.execute({ cacheOperations: [], segments });
    if (step >= WARM_UP_STEPS) times.push(performance.now() - startedAt);
    for (const sequence of sequences) sequence.append(3 + step);
  }
  return times.sort((a, b) => a - b)[times.length >> 1] ?? NaN;
}

const [path = 'models/summit', wanted = 'fp32'] = process.argv.slice(2);
const precision: Precision = PRECISIONS.find((name) => name === wanted) ?? 'fp32';
const source = { kind: 'folder', path } as const;
const cacheDirectory = defaultCacheDirectory();
const model = await inspectModelFolder(path);
if (model.kind === 'export') throw new Error(`${path} is an export`);
const { config } = model;
const folder = await mkdtemp(join(tmpdir(), 'chairlift-adapters-'));
try {
  const adapters: EngineAdapter[] = [];
  for (let seed = 0; seed < 8; seed++) {
    const adapter = join(folder, String(seed));
    await randomAdapter(adapter, config, seed);
    const file = await prepareLiveAdapter(adapter, config, RANK, folder);
    adapters.push({ ...file, scale: 1 });
  }
  for (const maxAdapterRank of [undefined, RANK]) {
    const built = await prepareModel(source, { precision, cacheDirectory, maxAdapterRank });
    const options = { numSlots: ROWS, maxModelLen: 256, adapters: { maxActive: 8, maxCached: 8 } };
    const decoder = new CpuDecoder(built, options);
    for (const count of maxAdapterRank === undefined ? [0] : [0, 1, 4, 8]) {
      const graph = maxAdapterRank === undefined ? 'the model alone' : `${count} adapters`;
      console.log(graph.padEnd(16), measure(decoder, adapters.slice(0, count)).toFixed(2), 'ms');
    }
    decoder.release();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
