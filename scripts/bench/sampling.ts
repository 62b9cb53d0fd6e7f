/**
 * Sampling's share of a decode step: SmolLM2-135M shape (random weights), a vocabulary of 49,152, a
 * full batch at context 128. Random weights give nearly flat logits, the worst case for top_p; peaked
 * ones, as a trained model gives them, are made up.
 *
 *   npx tsx scripts/bench/sampling.ts [--rows 32] [--rounds 20] [--precisions fp32,int8] [--threads 2]
 *     [--json]
 *
 * Decoder and sampler take turns over the same logits. Medians; the share is of both together.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { SamplingParams } from '../../src/engine/request.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { PRECISIONS, type Precision } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { machineShape } from './lib/machine.ts';
import { Draws } from './lib/random.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { median, printTable } from './lib/table.ts';

const CONTEXT = 128;
const CAPACITY = 512;
const VOCAB_SIZE = PRESETS['smollm2-135m'].vocab_size;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '20' },
    precisions: { type: 'string', default: 'fp32,int8' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const numRows = Number(values.rows);
const rounds = Number(values.rounds);

const SAMPLING: Readonly<Record<string, Partial<SamplingParams>>> = {
  greedy: { temperature: 0 },
  'temperature 1': { temperature: 1 },
  'temperature 1, top_p 0.95': { temperature: 1, topP: 0.95 },
  'temperature 1, top_k 50, top_p 0.95': { temperature: 1, topK: 50, topP: 0.95 },
};

interface Measurement {
  readonly precision: Precision;
  readonly logits: 'flat' | 'peaked';
  readonly sampling: string;
  /** Medians, in milliseconds. */
  readonly decodeMs: number;
  readonly samplingMs: number;
  readonly share: number;
}

/** A few tokens far above a tail that falls off, in nats. */
function peakedLogits(draws: Draws): Float32Array {
  return Float32Array.from({ length: VOCAB_SIZE }, () => {
    const isLikely = draws.uniform() < 1e-4;
    return (isLikely ? 6 : -8) + 2 * draws.normal();
  });
}

const draws = new Draws(1);
const peaked = Array.from({ length: numRows }, () => peakedLogits(draws));

async function measure(precision: Precision): Promise<Measurement[]> {
  const model = await prepareModel(
    { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 },
    { precision, cacheDirectory: defaultCacheDirectory() },
  );
  const decoder = new RawDecoder(model, numRows, CAPACITY, CONTEXT, Number(values.threads));
  const sampler = new Sampler(VOCAB_SIZE);
  const decodeMs: number[] = [];
  const samplingMs = new Map<string, number[]>();
  // The first rounds warm up.
  for (let round = -5; round < rounds; round++) {
    for (const logits of ['flat', 'peaked'] as const) {
      for (const [name, params] of Object.entries(SAMPLING)) {
        const start = performance.now();
        const computed = decoder.step();
        const decoded = performance.now();
        const results = computed.logits.map((row, index) => {
          const sampling = { ...params, seed: BigInt(index) };
          const sequence = new Sequence(engineRequest({ id: index, sampling }));
          const made = logits === 'peaked' ? peaked[index] : undefined;
          const segment = segmentOf(sequence, sequence.numTokens);
          return { segment, logits: made ? [made] : row.logits };
        });
        const before = performance.now();
        sampler.sample({ ...computed, logits: results });
        const after = performance.now();
        if (round < 0) continue;
        decodeMs.push(decoded - start);
        const key = `${logits}/${name}`;
        samplingMs.set(key, [...(samplingMs.get(key) ?? []), after - before]);
      }
    }
  }
  decoder.release();
  return (['flat', 'peaked'] as const).flatMap((logits) =>
    Object.keys(SAMPLING).map((sampling) => {
      const [decode, sample] = [
        median(decodeMs),
        median(samplingMs.get(`${logits}/${sampling}`) ?? []),
      ];
      return {
        precision,
        logits,
        sampling,
        decodeMs: decode,
        samplingMs: sample,
        share: sample / (decode + sample),
      };
    }),
  );
}

const measurements: Measurement[] = [];
for (const name of values.precisions.split(',')) {
  const precision = PRECISIONS.find((known) => known === name);
  if (precision === undefined) throw new Error(`--precisions is of ${PRECISIONS.join(', ')}`);
  measurements.push(...(await measure(precision)));
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), numRows, rounds, measurements }));
} else {
  console.log(`${machineShape()}; ${numRows} rows, vocabulary ${VOCAB_SIZE}\n`);
  printTable(
    ['precision', 'logits', 'sampling', 'decoder ms', 'sampler ms', 'share'],
    measurements.map((m) => [
      m.precision,
      m.logits,
      m.sampling,
      m.decodeMs.toFixed(1),
      m.samplingMs.toFixed(2),
      `${(m.share * 100).toFixed(1)}%`,
    ]),
  );
}
