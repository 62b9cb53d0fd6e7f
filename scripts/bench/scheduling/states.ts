/**
 * A model whose layers have states: time to first token of prompts of 1,000 tokens that begin like one before,
 * and tokens per second of several streams. The LFM2-350M shape, with random
 * weights in int8.
 *
 *   npx tsx scripts/bench/scheduling/states.ts [--rounds 5]
 */
import { parseArgs } from 'node:util';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import { defaultCacheDirectory } from '../../../src/model/cache/cache-directory.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { serve } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';

const LFM2_350M = {
  model_type: 'lfm2',
  vocab_size: 65_536,
  hidden_size: 1024,
  intermediate_size: 6656,
  block_auto_adjust_ff_dim: true,
  block_ffn_dim_multiplier: 1,
  block_multiple_of: 256,
  num_hidden_layers: 16,
  full_attn_idxs: [2, 5, 8, 10, 12, 14],
  num_attention_heads: 16,
  num_key_value_heads: 8,
  max_position_embeddings: 4096,
  rope_theta: 1_000_000,
  norm_eps: 1e-5,
  conv_L_cache: 3,
  conv_bias: false,
  tie_word_embeddings: true,
};
const LENGTH = 1000;
const STREAMS = [1, 4, 16];
const TOKENS = 64;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' } },
});
const rounds = Array.from({ length: Number(values.rounds) });
const model = await prepareModel(
  { kind: 'random', config: LFM2_350M, seed: 1 },
  {
    precision: 'int8',
    nativeKernels: { kvCacheDtype: 'float32' },
    cacheDirectory: defaultCacheDirectory(),
  },
);
const opened = openEngine({
  model,
  maxNumSeqs: 16,
  maxModelLen: 2048,
  maxNumBatchedTokens: 512,
  threads: 0,
  kvCacheMemory: 2 ** 31,
  prefixCaching: true,
  targetItlMs: null,
});
const draws = new Draws(3);
let id = 0;

async function ttft(promptTokenIds: Int32Array): Promise<{ ms: number; cached: number }> {
  const request = engineRequest({ id: ++id, promptTokenIds, maxTokens: 4 });
  const { ttftMs = NaN, numCachedTokens = 0 } =
    (await serve(opened, [{ atMs: 0, request }])).get(id) ?? {};
  return { ms: ttftMs, cached: numCachedTokens };
}

async function tokensPerSecond(numStreams: number): Promise<number> {
  const arrivals = Array.from({ length: numStreams }, () => {
    const promptTokenIds = draws.tokenIds(16);
    return { atMs: 0, request: engineRequest({ id: ++id, promptTokenIds, maxTokens: TOKENS }) };
  });
  const served = [...(await serve(opened, arrivals)).values()];
  const last = Math.max(...served.map(({ tokenMs }) => tokenMs.at(-1) ?? NaN));
  const first = Math.max(...served.map(({ ttftMs }) => ttftMs));
  return (numStreams * (TOKENS - 1) * 1000) / (last - first);
}

// Warms up the session.
await ttft(draws.tokenIds(LENGTH));
const rows: string[][] = [];
for (const share of [0, 0.5, 0.95]) {
  const seconds: { readonly ms: number; readonly cached: number }[] = [];
  for (const _ of rounds) {
    const shared = draws.tokenIds(LENGTH * share);
    const prompt = () => Int32Array.of(...shared, ...draws.tokenIds(LENGTH - shared.length));
    await ttft(prompt());
    seconds.push(await ttft(prompt()));
  }
  const ms = median(seconds.map((each) => each.ms));
  const cached = median(seconds.map((each) => each.cached));
  rows.push([`${100 * share}%`, ms.toFixed(0), String(cached)]);
}
console.log(`${machineShape()}; prompts of ${LENGTH} tokens\n`);
printTable(['shared', 'TTFT, ms', 'cached tokens'], rows);
const speeds: string[][] = [];
for (const numStreams of STREAMS) {
  const each: number[] = [];
  for (const _ of rounds) each.push(await tokensPerSecond(numStreams));
  speeds.push([String(numStreams), median(each).toFixed(0)]);
}
console.log();
printTable(['streams', 'tokens/s'], speeds);
opened.decoder.release();
