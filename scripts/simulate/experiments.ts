import { SHAREGPT_MEANS } from '../../src/bench/lengths.ts';
import { Random } from '../../src/bench/random.ts';
import { randomTokens } from './made-up-tokens.ts';
import { capacityPerSecond, type Machine } from './machine.ts';
import { DEFAULT_POLICY, type Policy } from './policy.ts';
import {
  arrivals,
  atOnce,
  CHAT_MEANS,
  chatRequest,
  documentRequest,
  LONG_PROMPT_MEAN,
  shareGptRequest,
  type Traffic,
} from './traffic.ts';

export interface Load {
  readonly machine: Machine;
  readonly numRequests: number;
  /** Offered requests as a share of what the machine could serve. */
  readonly load: number;
  readonly seed: number;
}

export interface Variant {
  readonly name: string;
  readonly policy: Policy;
}

/** Policies side by side under the same traffic. */
export interface Experiment {
  readonly title: string;
  readonly load: number;
  readonly traffic: (load: Load) => Traffic[];
  readonly variants: (machine: Machine) => Variant[];
}

/** As the server's default classes have it. */
const BATCH = { tier: 1000, targetItlMs: null };
const INTERACTIVE = { tier: -10, targetItlMs: 42.5 };

const DOCUMENT_SHARE = 0.15;
const CHAT_TURNS = 4;
const SHORT_ANSWER = 16;
const SYSTEM_PROMPT_TOKENS = 256;

/** Requests of their own, one like the other. */
function shareGpt({ machine, numRequests: count, load, seed }: Load, burstiness = 1): Traffic[] {
  const random = new Random(seed);
  const { input, output } = SHAREGPT_MEANS;
  const perSecond = load * capacityPerSecond(machine, input, output);
  const make = () => shareGptRequest(machine.maxModelLen, random);
  return [arrivals({ count, perSecond, burstiness }, random, make)];
}

/** Answers of a few words: rows are freed as often as can be. */
function shortAnswers({ machine, numRequests: count, load, seed }: Load): Traffic[] {
  const random = new Random(seed);
  const perSecond = load * capacityPerSecond(machine, SHAREGPT_MEANS.input, SHORT_ANSWER);
  const make = () => ({
    ...shareGptRequest(machine.maxModelLen, random),
    outputTokens: random.integer(1, 2 * SHORT_ANSWER - 1),
  });
  return [arrivals({ count, perSecond }, random, make)];
}

/** Short prompts, and now and then a long one that delays them. */
function withDocuments({ machine, numRequests: count, load, seed }: Load): Traffic[] {
  const random = new Random(seed);
  const { input, output } = SHAREGPT_MEANS;
  const perSecond =
    load *
    capacityPerSecond(
      machine,
      mix(input, LONG_PROMPT_MEAN, DOCUMENT_SHARE),
      mix(output, output / 4, DOCUMENT_SHARE),
    );
  const make = () =>
    random.uniform() < DOCUMENT_SHARE
      ? documentRequest(machine.maxModelLen, random)
      : { ...shareGptRequest(machine.maxModelLen, random), group: 'short' };
  return [arrivals({ count, perSecond }, random, make)];
}

/** Conversations that share a few system prompts; each turn brings the whole text so far. */
function chats({ machine, numRequests, load, seed }: Load): Traffic[] {
  const random = new Random(seed);
  const { user, answer } = CHAT_MEANS;
  const meanPrompt = SYSTEM_PROMPT_TOKENS + user + ((CHAT_TURNS - 1) * (user + answer)) / 2;
  const perSecond = (load * capacityPerSecond(machine, meanPrompt, answer)) / CHAT_TURNS;
  const shape = {
    maxModelLen: machine.maxModelLen,
    systemPrompts: Array.from({ length: 8 }, () => randomTokens(SYSTEM_PROMPT_TOKENS, random)),
    meanTurns: CHAT_TURNS,
    meanPauseMs: 15_000,
  };
  const count = Math.ceil(numRequests / CHAT_TURNS);
  return [arrivals({ count, perSecond }, random, () => chatRequest(shape, random))];
}

/** One client sends hundreds of requests at once, again and again; another one at a time. */
function flood({ machine, numRequests, load, seed }: Load): Traffic[] {
  const random = new Random(seed);
  const { input, output } = SHAREGPT_MEANS;
  const perSecond = load * capacityPerSecond(machine, input, output);
  const [size, light] = [machine.maxNumSeqs * 6, Math.ceil(numRequests / 20)];
  const numFloods = Math.max(1, Math.floor((numRequests - light) / size));
  const lastMs = (numRequests * 1000) / perSecond;
  const floodRequest = () =>
    shareGptRequest(machine.maxModelLen, random, { group: 'flood', client: 'flood' });
  const lightRequest = () =>
    shareGptRequest(machine.maxModelLen, random, { group: 'light', client: 'light' });
  return [
    ...Array.from({ length: numFloods }, (_, index) =>
      atOnce(size, (index * lastMs) / numFloods, floodRequest),
    ),
    arrivals({ count: light, perSecond: (light * 1000) / lastMs }, random, lightRequest),
  ];
}

/** A tenth is urgent and a third can wait; together at times more than the machine can do. */
function priorities({ machine, numRequests: count, load, seed }: Load): Traffic[] {
  const random = new Random(seed);
  const { input, output } = SHAREGPT_MEANS;
  const perSecond = load * capacityPerSecond(machine, input, output);
  const make = () => {
    const draw = random.uniform();
    const sender =
      draw < 0.1
        ? { group: 'urgent', priority: -1 }
        : draw < 0.67
          ? { group: 'normal', priority: 0 }
          : { group: 'batch', priority: 1 };
    return shareGptRequest(machine.maxModelLen, random, sender);
  };
  return [arrivals({ count, perSecond, burstiness: 0.25 }, random, make)];
}

/** Batch requests, always more than can run, and now and then somebody who waits for an answer. */
function classes({ machine, numRequests, load, seed }: Load): Traffic[] {
  const random = new Random(seed);
  const { input, output } = SHAREGPT_MEANS;
  const capacity = capacityPerSecond(machine, input, output);
  const numBatch = Math.ceil(numRequests * (1 - load));
  const batch = () =>
    shareGptRequest(machine.maxModelLen, random, { group: 'batch', service: BATCH });
  const interactive = () =>
    shareGptRequest(machine.maxModelLen, random, { group: 'interactive', service: INTERACTIVE });
  const lastSeconds = numBatch / ((1 - load) * capacity);
  return [
    atOnce(numBatch, 0, batch),
    arrivals(
      { count: Math.ceil(load * capacity * lastSeconds), perSecond: load * capacity },
      random,
      interactive,
    ),
  ];
}

function mix(a: number, b: number, shareOfB: number): number {
  return a * (1 - shareOfB) + b * shareOfB;
}

function variant(name: string, changes: Partial<Policy> = {}): Variant {
  return { name, policy: { ...DEFAULT_POLICY, ...changes } };
}

const BATCHING = [variant('continuous'), variant('static', { batching: 'static' })];
const QUEUES = [variant('fair'), variant('first come', { queue: 'fifo' })];

export const EXPERIMENTS = {
  batching: {
    title: 'Static and continuous batching, below saturation',
    load: 0.35,
    traffic: shareGpt,
    variants: () => BATCHING,
  },
  saturation: {
    title: 'Static and continuous batching, more asked than can be served',
    load: 2,
    traffic: shareGpt,
    variants: () => [
      ...BATCHING,
      ...[32, 64, 128].map((minChunk) =>
        variant(`continuous, chunk ${minChunk}`, {
          prefill: { ...DEFAULT_POLICY.prefill, minChunk },
        }),
      ),
      variant('continuous, no limit', {
        prefill: { ...DEFAULT_POLICY.prefill, stretchPerPrompt: Infinity },
      }),
    ],
  },
  stretch: {
    title: 'Prefill during decoding: by how much each prompt may lengthen an iteration',
    load: 0.7,
    traffic: withDocuments,
    variants: ({ serviceLevel: { itlMs } }: Machine) => [
      ...[0.1, 0.2, 0.3, 0.4, 0.7, 1, 2, 4, Infinity].map((stretchPerPrompt) =>
        variant(stretchPerPrompt === Infinity ? 'no limit' : `stretch ${stretchPerPrompt}`, {
          prefill: { ...DEFAULT_POLICY.prefill, stretchPerPrompt },
        }),
      ),
      ...[0.6, 0.8, 1].map((share) =>
        variant(`target ${share * itlMs} ms`, { targetItlMs: share * itlMs }),
      ),
    ],
  },
  saved: {
    title: 'Prefill during decoding: time saved up by iterations without a prompt',
    load: 0.7,
    traffic: withDocuments,
    variants: () =>
      [
        [0, 0],
        [0.05, 1],
        [0.05, 2],
        [0.1, 1],
        [0.1, 2],
        [0.1, 4],
        [0.2, 2],
        [0.2, 4],
      ].map(([savedPerStep = 0, maxSaved = 0]) =>
        variant(`${savedPerStep} a step, up to ${maxSaved}`, {
          prefill: { ...DEFAULT_POLICY.prefill, savedPerStep, maxSaved },
        }),
      ),
  },
  chunk: {
    title: 'The smallest prefill chunk',
    load: 0.7,
    traffic: withDocuments,
    variants: () =>
      [1, 2, 4, 8, 16, 32].map((minChunk) =>
        variant(`chunk ${minChunk}`, { prefill: { ...DEFAULT_POLICY.prefill, minChunk } }),
      ),
  },
  budget: {
    title: 'Tokens per iteration',
    load: 0.7,
    traffic: withDocuments,
    variants: ({ maxNumSeqs }: Machine) =>
      [256, 512, 1024, 2048, 4096]
        .filter((tokens) => tokens >= maxNumSeqs)
        .map((maxNumBatchedTokens) => variant(`${maxNumBatchedTokens}`, { maxNumBatchedTokens })),
  },
  prefix: {
    title: 'Prefix caching and rows for finished texts, in conversations',
    load: 0.8,
    traffic: chats,
    variants: () => [
      variant('no caching', { prefixCaching: false }),
      ...[0, 0.25, 0.5, 1, 2, 4].map((spareRows) =>
        variant(`spare rows ${spareRows}x`, { spareRows }),
      ),
    ],
  },
  memory: {
    title: 'Memory for the KV cache',
    load: 0.7,
    traffic: shareGpt,
    variants: () =>
      [1, 0.5, 0.33, 0.25, 0.15].map((kvCacheShare) =>
        variant(`memory ${kvCacheShare}`, { kvCacheShare }),
      ),
  },
  lookahead: {
    title: 'Requests that the engine holds beyond its rows; short answers',
    load: 2,
    traffic: shortAnswers,
    variants: () =>
      [0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1].map((lookahead) =>
        variant(`lookahead ${lookahead}`, { lookahead }),
      ),
  },
  fairness: {
    title: 'A flood by one client and single requests of another',
    load: 0.8,
    traffic: flood,
    variants: () => [
      ...QUEUES,
      ...[0, 1 / 32, 1 / 16, 1].map((lookahead) =>
        variant(`fair, lookahead ${lookahead}`, { lookahead }),
      ),
    ],
  },
  aging: {
    title: 'How long a request waits to make up for a level of priority',
    load: 0.9,
    traffic: priorities,
    variants: () => [
      ...[3, 10, 30, 60, 120].map((seconds) =>
        variant(`aging ${seconds} s`, { agingMs: seconds * 1000 }),
      ),
      variant('first come', { queue: 'fifo', agingMs: 0.001 }),
    ],
  },
  classes: {
    title: 'Interactive requests beside a flood of batch requests',
    load: 0.1,
    traffic: classes,
    variants: () => [
      variant('interactive alone', { without: 'batch' }),
      variant('without classes', { hasClasses: false }),
      variant('with classes'),
    ],
  },
  bursts: {
    title: 'Bursty arrivals',
    load: 0.7,
    traffic: (load: Load) => shareGpt(load, 0.2),
    variants: () => [
      variant('default'),
      variant('stretch 1', {
        prefill: { ...DEFAULT_POLICY.prefill, stretchPerPrompt: 1 },
      }),
    ],
  },
} satisfies Record<string, Experiment>;
