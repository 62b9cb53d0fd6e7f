import { availableParallelism } from 'node:os';
import { usableCores } from '../../ort/usable-cores.ts';
import type { EngineOptions } from '../../engine/process/protocol.ts';
import { measureSpeed, type Speed, type SpeedWork } from '../../eval/compare/measure-speed.ts';
import { interruptible } from '../terminal/interruptible.ts';
import { stepsBar } from '../../serving/progress/progress-bar.ts';
import type { Settings } from '../../serving/plan/tuning.ts';

/** Least gain that is more than noise. */
const LEAST_GAIN = 1.03;
const ROUNDS = 3;
const STREAMS = [1, 4, 16];
const PROMPT_TOKENS = 64;
const OUTPUT_TOKENS = 32;
/** For work that is mostly prefill next to sequences that decode. */
const LONG_PROMPT_TOKENS = 512;
const BATCHED_TOKENS = [256, 1024, 2048];

/** One setting after the other, each with those before it as they were picked. */
export interface Stage {
  readonly name: string;
  /** Other values that the setting can have. */
  readonly others: (current: Settings) => readonly Settings[];
  readonly work: SpeedWork;
}

export interface Tried {
  readonly stage: string;
  readonly settings: Settings;
  /** Tokens per second: the geometric mean over numbers of streams. */
  readonly tokensPerSecond: number;
  readonly isPicked: boolean;
}

/** @param hasNative our own kernels are what the flags come to, and ONNX Runtime's could be taken */
export function tuningStages(
  hasNative: boolean,
  isThreadsOpen: boolean,
  maxModelLen: number,
): Stage[] {
  const work = { promptTokens: PROMPT_TOKENS, outputTokens: OUTPUT_TOKENS, streams: STREAMS };
  const long = Math.min(LONG_PROMPT_TOKENS, maxModelLen - OUTPUT_TOKENS);
  return [
    {
      name: 'kernels',
      others: (current) => (hasNative ? [{ ...current, kernels: 'onnxruntime' }] : []),
      work,
    },
    {
      name: 'threads',
      others: (current) =>
        isThreadsOpen
          ? threadCounts(current.threads).map((threads) => ({ ...current, threads }))
          : [],
      work,
    },
    {
      name: 'tokens a step',
      others: (current) =>
        BATCHED_TOKENS.map((maxNumBatchedTokens) => ({ ...current, maxNumBatchedTokens })),
      work: { promptTokens: long, outputTokens: OUTPUT_TOKENS, streams: [16] },
    },
  ];
}

/** Measures a stage after the other. The settings it begins with stay unless others are clearly better. */
export async function tune(
  start: Settings,
  stages: readonly Stage[],
  measure: (work: SpeedWork, settings: readonly Settings[]) => Promise<readonly Speed[]>,
): Promise<{ readonly settings: Settings; readonly tried: readonly Tried[] }> {
  let picked = start;
  const tried: Tried[] = [];
  for (const { name, others, work } of stages) {
    const alternatives = others(picked);
    if (alternatives.length === 0) continue;
    const all = [picked, ...alternatives];
    const rates = (await measure(work, all)).map((speed) => rateOf(speed));
    const [first = 0] = rates;
    const best = Math.max(...rates);
    const at = best > LEAST_GAIN * first ? rates.indexOf(best) : 0;
    picked = all[at] ?? picked;
    for (const [index, settings] of all.entries()) {
      const tokensPerSecond = rates[index] ?? 0;
      tried.push({ stage: name, settings, tokensPerSecond, isPicked: index === at });
    }
  }
  return { settings: picked, tried };
}

/** `tune` with engines, each in a process of its own. */
export async function autotune(
  start: Settings,
  stages: readonly Stage[],
  engineFor: (settings: Settings) => Promise<EngineOptions>,
  vocabSize: number,
): Promise<{ readonly settings: Settings; readonly tried: readonly Tried[] }> {
  // Spread over the vocabulary, and no two prompts begin alike.
  const tokenIds = Int32Array.from({ length: 20_011 }, (_, at) => (at * 7919) % vocabSize);
  const bar = stepsBar('tuning');
  return await tune(start, stages, async (work, settings) => {
    const variants: { engine: EngineOptions; tokenIds: Int32Array }[] = [];
    for (const each of settings) variants.push({ engine: await engineFor(each), tokenIds });
    bar.start(variants.length * ROUNDS, 0);
    try {
      return await interruptible(
        () => measureSpeed(variants, work, ROUNDS, () => bar.increment()),
        () => console.error('chairlift: interrupted; the settings that were there before stay'),
      );
    } finally {
      bar.stop();
    }
  });
}

function rateOf({ levels }: Speed): number {
  const logs = levels.map(({ tokensPerSecond }) => Math.log(tokensPerSecond));
  return Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
}

/** One, half of the cores, and all that the system shows. */
function threadCounts(current: number): number[] {
  const counts = [1, Math.ceil(usableCores() / 2), usableCores(), availableParallelism()];
  return [...new Set(counts)].filter((count) => count !== current);
}
