import { SHAREGPT_MEANS } from '../../src/bench/lengths.ts';
import { Random } from '../../src/bench/random.ts';
import { printTable } from '../bench/lib/table.ts';
import { randomTokens } from './made-up-tokens.ts';
import { capacityPerSecond, type Machine } from './machine.ts';
import { DEFAULT_POLICY } from './policy.ts';
import { printResults } from './report.ts';
import { simulate } from './simulation.ts';
import {
  arrivals,
  atOnce,
  chatRequest,
  documentRequest,
  impatient,
  shareGptRequest,
  type SimulatedRequest,
  type Traffic,
} from './traffic.ts';

export interface SoakOptions {
  readonly machine: Machine;
  /** Time of the virtual clock. */
  readonly seconds: number;
  readonly seed: number;
}

interface MemorySample {
  readonly nowMs: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
}

/** Shares of the machine's capacity, from each kind of traffic. */
const LOADS = { shareGpt: 0.3, documents: 0.15, chats: 0.2 } as const;
const GIVES_UP = 0.15;
const NUM_SAMPLES = 12;
/** The heap's growth from the first half of the samples to the second that is taken for noise. */
const MEMORY_GROWTH_ALLOWED = 0.05;

/**
 * Hours of mixed load on a memory budget too small for it, with clients that hang up: `simulate`
 * checks every token and counter; on top of that the process's memory must stay as it is.
 * @throws Error when it does not
 */
export function soak({ machine, seconds, seed }: SoakOptions): void {
  const samples: MemorySample[] = [];
  const everyMs = (seconds * 1000) / NUM_SAMPLES;
  const outcome = simulate({
    machine,
    policy: { ...DEFAULT_POLICY, kvCacheShare: 1 / 3 },
    traffic: mixedTraffic(machine, seconds, new Random(seed)),
    seed,
    onProgress: (nowMs) => {
      if (nowMs >= (samples.length + 1) * everyMs && samples.length < NUM_SAMPLES) {
        samples.push(sampleMemory(nowMs));
      }
    },
  });
  const { metrics, elapsedMs } = outcome;
  printTable(
    ['virtual s', 'heap MiB', 'resident MiB'],
    samples.map(({ nowMs, heapBytes, residentBytes }) => [
      (nowMs / 1000).toFixed(0),
      mebibytes(heapBytes),
      mebibytes(residentBytes),
    ]),
  );
  console.log(
    `\n${(elapsedMs / 1000).toFixed(0)} s: ${metrics.numArrived} requests, ` +
      `${metrics.numFinished} finished, ${metrics.numCancelled} given up; ` +
      `${metrics.numTokens} tokens, none lost or doubled\n`,
  );
  printResults(machine, [{ name: 'soak', outcome }]);
  requireFlat(samples);
}

function mixedTraffic(machine: Machine, seconds: number, random: Random): Traffic[] {
  const { maxModelLen } = machine;
  const { input, output } = SHAREGPT_MEANS;
  const capacity = capacityPerSecond(machine, input, output);
  const stream = (load: number, make: () => SimulatedRequest, burstiness = 1) => {
    const perSecond = load * capacity;
    const count = Math.ceil(perSecond * seconds);
    const request = () => impatient(make(), GIVES_UP, 10_000, random);
    return arrivals({ count, perSecond, burstiness }, random, request);
  };
  const chatShape = {
    maxModelLen,
    systemPrompts: Array.from({ length: 8 }, () => randomTokens(256, random)),
    meanTurns: 4,
    meanPauseMs: 15_000,
  };
  const floodRequest = () =>
    impatient(
      shareGptRequest(maxModelLen, random, { group: 'flood', client: 'flood', priority: 1 }),
      GIVES_UP,
      60_000,
      random,
    );
  return [
    stream(LOADS.shareGpt, () => shareGptRequest(maxModelLen, random), 0.3),
    stream(LOADS.documents, () => documentRequest(maxModelLen, random)),
    // A conversation is several requests.
    stream(LOADS.chats / chatShape.meanTurns, () => chatRequest(chatShape, random)),
    ...[0.2, 0.5, 0.8].map((share) =>
      atOnce(machine.maxNumSeqs * 3, share * seconds * 1000, floodRequest),
    ),
  ];
}

function sampleMemory(nowMs: number): MemorySample {
  if (!globalThis.gc) throw new Error('the soak needs node --expose-gc');
  globalThis.gc();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { nowMs, heapBytes: heapUsed + arrayBuffers, residentBytes: rss };
}

/** Compares lowest with lowest: what is in flight when a sample is taken comes on top. */
function requireFlat(samples: readonly MemorySample[]): void {
  const half = samples.length >> 1;
  // The first sample is from before everything has been in use once.
  const [early, late] = [samples.slice(1, half), samples.slice(half)].map((part) =>
    Math.min(...part.map(({ heapBytes }) => heapBytes)),
  );
  if (!early || !late || half < 2) throw new Error('too short to say anything about memory');
  const growth = late / early - 1;
  if (growth > MEMORY_GROWTH_ALLOWED) {
    throw new Error(`memory grew by ${(100 * growth).toFixed(1)}%`);
  }
  console.log(
    `\nthe heap changed by ${(100 * growth).toFixed(1)}% from the first half to the second`,
  );
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
