/**
 * Does one job of scripts/gpu/bench.ts, in a process of its own: what crashes or runs out of memory
 * takes nothing else with it. Reads the job from its argument, prints what it has found out as a line
 * of JSON, again with every number.
 */
import { CPU_DEVICE } from '../../src/engine/gpu/device-options.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import type { EngineOptions } from '../../src/engine/process/protocol.ts';
import { openEngine } from '../../src/engine/process/open-engine.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { ActivationDtype, BuiltModel } from '../../src/model/manifest.ts';
import { vulkanDevices } from '../../src/ort/vulkan-devices.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { median } from '../bench/lib/table.ts';
import type { CheckResult, Job, JobResult, StepMeasurement } from './job.ts';
import { shapeNamed } from './shapes.ts';

const CHECK_TOKENS = 12;
const CHECK_PROMPTS = [1, 5, 17, 33, 70];
const WARM_UP_STEPS = 4;
/** Sequences wait for a row where those that run might need what is left of the memory. */
const SPARE_POSITIONS = 128;

function request(id: number, numPromptTokens: number, maxTokens: number): EngineRequest {
  const length = numPromptTokens;
  const promptTokenIds = Int32Array.from({ length }, (_, i) => 3 + ((i * 31 + id) % 400));
  return engineRequest({ id, promptTokenIds, maxTokens, arrivalMs: id });
}

/** As much KV cache as the rows take, in the widest element type. */
function optionsOf(job: Job, model: BuiltModel, maxNumSeqs: number): EngineOptions {
  const { numLayers, numKvHeads, headDim } = model.manifest;
  const maxModelLen =
    job.kind === 'check'
      ? Math.max(...CHECK_PROMPTS) + CHECK_TOKENS
      : job.promptTokens + job.steps + 2 * WARM_UP_STEPS + SPARE_POSITIONS;
  const positionBytes = 2 * numLayers * numKvHeads * headDim * Float32Array.BYTES_PER_ELEMENT;
  return {
    model,
    maxNumSeqs,
    maxModelLen,
    maxNumBatchedTokens: Math.max(2048, maxNumSeqs),
    threads: 0,
    device: { ...CPU_DEVICE, name: job.device, graphCapture: job.graphCapture },
    attention: job.attention,
    // A row more for each way of the cache to need one.
    kvCacheMemory: (2 * maxNumSeqs + 2) * (maxModelLen + 256) * positionBytes,
    prefixCaching: false,
    // Prompts are not to wait for each other: all sequences are to decode at once for a while.
    targetItlMs: 60_000,
  };
}

/**
 * The same sequences on the CPU, in float32, and on the device: tokens and log-probabilities.
 * @param onCpu the same model for the CPU
 */
function check(job: Job, model: BuiltModel, onCpu: BuiltModel): CheckResult {
  const run = (options: EngineOptions) => {
    const { engine, decoder } = openEngine(options);
    const outputs = CHECK_PROMPTS.map((): TokenOutput[] => []);
    for (const [id, length] of CHECK_PROMPTS.entries()) {
      engine.add({ ...request(id, length, CHECK_TOKENS), logprobs: 5 });
    }
    while (engine.hasWork) {
      for (const output of engine.step()) {
        if (output.error !== undefined) throw new Error(output.error);
        outputs[output.id]?.push(output);
      }
    }
    decoder.release();
    return outputs;
  };
  // Fewer slots than sequences, so that some begin while others decode.
  const options = optionsOf(job, model, 3);
  const expected = run({ ...options, model: onCpu, device: CPU_DEVICE, attention: 'slots' });
  const found = run(options);
  let [equalTokens, worst] = [0, 0];
  for (const [id, outputs] of expected.entries()) {
    for (const [index, { tokenId, logprobs }] of outputs.entries()) {
      const other = found[id]?.[index];
      for (const [at, logprob] of (logprobs?.logprobs ?? []).entries()) {
        worst = Math.max(worst, Math.abs(logprob - (other?.logprobs?.logprobs[at] ?? Infinity)));
      }
      if (other?.tokenId !== tokenId) break;
      equalTokens++;
    }
  }
  return { equalTokens, tokens: CHECK_PROMPTS.length * CHECK_TOKENS, worst };
}

function measure(
  job: Job,
  model: BuiltModel,
  onStep: (steps: readonly StepMeasurement[]) => void,
): void {
  const { engine, decoder } = openEngine(optionsOf(job, model, Math.max(...job.rows)));
  let id = 0;
  const measurements: StepMeasurement[] = [];
  for (const rows of job.rows) {
    const numTokens = job.steps + 2 * WARM_UP_STEPS;
    for (let row = 0; row < rows; row++) engine.add(request(id++, job.promptTokens, numTokens));
    const started = new Set<number>();
    const start = performance.now();
    while (started.size < rows) {
      for (const output of engine.step()) {
        if (output.error !== undefined) throw new Error(output.error);
        started.add(output.id);
      }
      if (performance.now() - start > 120_000) throw new Error(`${rows} prompts take over 120 s`);
    }
    const prefillMs = performance.now() - start;
    const stepMs: number[] = [];
    for (let step = 0; engine.hasWork; step++) {
      const begin = performance.now();
      const outputs = engine.step();
      const isFull = outputs.length === rows;
      if (isFull && step >= WARM_UP_STEPS) stepMs.push(performance.now() - begin);
    }
    const middle = median(stepMs);
    measurements.push({
      rows,
      stepMs: middle,
      tokensPerSecond: (1000 * rows) / middle,
      prefillTokensPerSecond: (1000 * rows * job.promptTokens) / prefillMs,
    });
    onStep(measurements);
  }
  decoder.release();
}

/** @param print called with the results so far */
async function work(job: Job, print: (result: JobResult) => void): Promise<void> {
  const { kind, precision, cacheDirectory } = job;
  const build = (activationDtype: ActivationDtype) =>
    prepareModel(
      { kind: 'random', config: shapeNamed(job.shape), seed: 1 },
      { precision, activationDtype, cacheDirectory },
    );
  if (kind === 'check' && job.device === 'webgpu') {
    print({ adapters: vulkanDevices().map(({ name }) => name) });
  }
  const hasHalf = job.device !== 'cpu' && precision !== 'fp32' && precision !== 'int8';
  const model = await build(hasHalf ? 'float16' : 'float32');
  if (kind === 'check') print({ check: check(job, model, await build('float32')) });
  if (kind === 'measure') measure(job, model, (steps) => print({ steps }));
}

/** Written by bench.ts. */
const job = JSON.parse(process.argv[2] ?? '') as Job;
let found: JobResult = {};
const print = (result: JobResult) => {
  found = { ...found, ...result };
  console.log(JSON.stringify(found));
};
try {
  await work(job, print);
} catch (error) {
  print({ error: error instanceof Error ? error.message : String(error) });
}
