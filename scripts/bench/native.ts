/**
 * Decode steps and prefill of the SmolLM2-135M shape (random weights) with our own kernels and with
 * ONNX Runtime's, in one process and in turns, so that a noisy machine slows both alike. Medians.
 *
 *   npx tsx scripts/bench/native.ts [--rows 1,4,16,32] [--tokens 128,512] [--rounds 5] [--json]
 *     [--precision int8] [--kv-cache-dtype float16] [--context 128] [--threads 2] [--cpu-time]
 *
 * With --cpu-time the least CPU time is taken instead of the median of what a clock says, for machines
 * that others use; give it --threads 1, since threads that wait spin.
 *
 * CHAIRLIFT_INSTRUCTIONS=avx2 or scalar holds our kernels to fewer instructions. The last line is of
 * JSON: {"decode": [{"rows", "nativeMs", "ortMs", "ratio"}], "prefill": [{"tokens", ...}]}.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { ModelSource } from '../../src/model/build/model-source.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { type BuiltModel, KV_CACHE_DTYPES } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { nativeKernels } from '../../src/ort/native-kernels.ts';
import { machineShape } from './lib/machine.ts';
import { timing } from './lib/process-time.ts';
import { RawDecoder } from './lib/raw-decoder.ts';
import { printTable } from './lib/table.ts';

const SOURCE: ModelSource = { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 };
const STEPS_PER_TURN = 5;
const PREFILLS_PER_TURN = 2;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1,4,16,32' },
    tokens: { type: 'string', default: '128,512' },
    rounds: { type: 'string', default: '5' },
    precision: { type: 'string', default: 'int8' },
    'kv-cache-dtype': { type: 'string', default: 'float16' },
    context: { type: 'string', default: '128' },
    threads: { type: 'string', default: String(availableParallelism()) },
    'cpu-time': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const threads = Number(values.threads);
const context = Number(values.context);
const precision = z.enum(['int8', 'int4']).parse(values.precision);
const kvCacheDtype = z.enum(KV_CACHE_DTYPES).parse(values['kv-cache-dtype']);
const numbers = (list: string) => list.split(',').filter(Boolean).map(Number);

const { clock, typical } = timing(values['cpu-time']);

/** In milliseconds. */
interface Measurement {
  readonly nativeMs: number;
  readonly ortMs: number;
  readonly ratio: number;
}

const options = { precision, cacheDirectory: defaultCacheDirectory() } as const;
const kernels = nativeKernels();
if ('missing' in kernels) throw new Error(kernels.missing);
const native = await prepareModel(SOURCE, { ...options, nativeKernels: { kvCacheDtype } });
const ort = await prepareModel(SOURCE, options);

/** Runs both in turns, a few times each; the first turn warms up. */
async function compare(
  rows: number,
  length: number,
  perTurn: number,
  run: (decoder: RawDecoder) => void,
): Promise<Measurement> {
  const open = (model: BuiltModel) => new RawDecoder(model, rows, length + 64, length, threads);
  const decoders = [open(native), open(ort)];
  const times: number[][] = decoders.map(() => []);
  for (let turn = 0; turn <= rounds; turn++) {
    for (const [index, decoder] of decoders.entries()) {
      // Threads spin for a while before they sleep.
      await sleep(50);
      for (let at = 0; at <= perTurn; at++) {
        const start = clock();
        run(decoder);
        if (turn > 0 && at > 0) times[index]?.push(clock() - start);
      }
    }
  }
  for (const decoder of decoders) decoder.release();
  const [nativeMs = NaN, ortMs = NaN] = times.map((of) => typical(of));
  return { nativeMs, ortMs, ratio: ortMs / nativeMs };
}

const decode: (Measurement & { readonly rows: number })[] = [];
for (const rows of numbers(values.rows)) {
  const measured = await compare(rows, context, STEPS_PER_TURN, (decoder) => void decoder.step());
  decode.push({ rows, ...measured });
}
const prefill: (Measurement & { readonly tokens: number })[] = [];
for (const tokens of numbers(values.tokens)) {
  const measured = await compare(1, tokens, PREFILLS_PER_TURN, (decoder) => decoder.prefill());
  prefill.push({ tokens, ...measured });
}

if (!values.json) {
  console.log(
    `${machineShape()}; ${threads} threads, ${precision}, ${kernels.instructions}, KV cache ` +
      `${kvCacheDtype}, context ${context}\n`,
  );
  const row = (what: string, { nativeMs, ortMs, ratio }: Measurement) => [
    what,
    nativeMs.toFixed(2),
    ortMs.toFixed(2),
    `${ratio.toFixed(2)}x`,
  ];
  printTable(
    ['', 'native ms', 'ONNX Runtime ms', 'ratio'],
    [
      ...decode.map((each) => row(`decode, ${each.rows} rows`, each)),
      ...prefill.map((each) => row(`prefill, ${each.tokens} tokens`, each)),
    ],
  );
  console.log('');
}
console.log(JSON.stringify({ decode, prefill }));
