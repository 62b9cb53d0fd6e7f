/**
 * Cost of a beam search beside as many texts that are drawn: one request at a time through the front
 * and a real engine, in turns, with the tokens that the engine computed for each.
 *
 *   npx tsx scripts/bench/beams.ts [--widths 2,4,8] [--prompt 200] [--tokens 64] [--rounds 3] [--json]
 *
 * The shape of SmolLM2-135M with random weights in int8, as `bench:http` has it; with `--model` a folder.
 */
import { parseArgs } from 'node:util';
import { EngineClient } from '../../src/front/engine-process/engine-client.ts';
import { fanOut } from '../../src/front/generation/fan-out.ts';
import type { GenerationRequest } from '../../src/front/generation/generation.ts';
import { TextGenerator } from '../../src/front/generation/text-generator.ts';
import { Admission } from '../../src/front/queue/admission.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { GREEDY } from '../../test/support/engine-requests.ts';
import { machineShape } from './lib/machine.ts';
import { median, printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    widths: { type: 'string', default: '2,4,8' },
    prompt: { type: 'string', default: '200' },
    tokens: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '3' },
    model: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const widths = values.widths.split(',').map(Number);
const numPrompt = Number(values.prompt);
const numTokens = Number(values.tokens);

const model = await prepareModel(
  values.model === undefined
    ? { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 }
    : { kind: 'folder', path: values.model },
  { precision: 'int8', cacheDirectory: defaultCacheDirectory() },
);
const maxNumSeqs = 16;
const engine = new EngineClient();
await engine.start({
  model,
  maxNumSeqs,
  maxModelLen: numPrompt + numTokens + 16,
  maxNumBatchedTokens: 256,
  threads: 2,
  kvCacheMemory: 2 ** 30,
  prefixCaching: true,
  targetItlMs: null,
});
const tokenizer = await TextTokenizer.load('models/summit');
const generator = new TextGenerator({
  engine,
  tokenizer,
  admission: new Admission({ concurrency: maxNumSeqs, maxQueue: 64 }),
  eosTokenIds: [],
});

/** A prompt of its own for each request: nothing of it is cached. */
let numRequests = 0;
function request(): GenerationRequest {
  numRequests++;
  const first = numRequests;
  return {
    promptTokenIds: Int32Array.from(
      { length: numPrompt },
      (_, at) => 10 + ((first * 7919 + at * 31) % 900),
    ),
    maxTokens: numTokens,
    minTokens: numTokens,
    stop: [],
    includeStopStrInOutput: false,
    stopTokenIds: [],
    ignoreEos: true,
    skipSpecialTokens: true,
    sampling: { ...GREEDY, temperature: 1, seed: BigInt(first) },
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
  };
}

/** @returns milliseconds that it took, and tokens that the engine computed for it */
async function measure(width: number, isSearch: boolean) {
  const beams = { width, numTexts: width, lengthPenalty: 1, earlyStopping: false } as const;
  const prompt = { ...request(), ...(isSearch && { beams }) };
  let computed = 0;
  const stop = engine.onStep(({ stepTokens }) => {
    computed += stepTokens;
  });
  const startedAt = performance.now();
  const { signal } = new AbortController();
  for await (const _ of fanOut(generator, { prompts: [prompt], numChoices: width }, signal));
  const ms = performance.now() - startedAt;
  stop();
  return { ms, computed };
}

await measure(widths[0] ?? 2, false);
const results = [];
for (const width of widths) {
  const [drawn, searched] = [[], []] as { ms: number; computed: number }[][];
  for (let round = 0; round < Number(values.rounds); round++) {
    drawn?.push(await measure(width, false));
    searched?.push(await measure(width, true));
  }
  const of = (runs: typeof drawn = []) => ({
    ms: median(runs.map(({ ms }) => ms)),
    computed: median(runs.map(({ computed }) => computed)),
  });
  results.push({ width, drawn: of(drawn), searched: of(searched) });
}
await engine.stop();

if (values.json) console.log(JSON.stringify({ machine: machineShape(), results }));
else {
  printTable(
    ['width', 'drawn ms', 'tokens', 'searched ms', 'tokens', 'time'],
    results.map(({ width, drawn, searched }) => [
      `${width}`,
      drawn.ms.toFixed(0),
      `${drawn.computed}`,
      searched.ms.toFixed(0),
      `${searched.computed}`,
      `${(searched.ms / drawn.ms).toFixed(2)}x`,
    ]),
  );
}
