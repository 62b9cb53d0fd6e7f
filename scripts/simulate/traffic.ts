import { drawLength, SHAREGPT_MEANS } from '../../src/bench/lengths.ts';
import { Random } from '../../src/bench/random.ts';
import { joinTokens, madeUpOutput, randomTokens } from './made-up-tokens.ts';

export interface SimulatedRequest {
  /** Its latencies are also shown by group. */
  readonly group: string;
  readonly client: string;
  /** Lower goes first. */
  readonly priority: number;
  /** Tier and promise of its service class; that of all if left out. */
  readonly service?: { readonly tier: number; readonly targetItlMs: number | null };
  readonly promptTokenIds: Int32Array;
  readonly outputTokens: number;
  /** How long the client stays, from the request's arrival; for good if left out. */
  readonly patienceMs?: number;
  /** Request that the client sends when it has the whole answer of this one, which had this id. */
  readonly followUp?: (id: number) => {
    readonly afterMs: number;
    readonly request: SimulatedRequest;
  };
}

export interface Arrival {
  readonly atMs: number;
  readonly request: SimulatedRequest;
}

/** Requests in order of time, made as they come: a million prompts at once would not fit memory. */
export type Traffic = Iterable<Arrival>;

export interface ArrivalShape {
  readonly count: number;
  readonly perSecond: number;
  /** Shape of the gamma distribution of the intervals: 1 is a Poisson process, below it is bursty. */
  readonly burstiness?: number;
}

export type Sender = Partial<Pick<SimulatedRequest, 'group' | 'client' | 'priority' | 'service'>>;

export function* arrivals(
  { count, perSecond, burstiness = 1 }: ArrivalShape,
  random: Random,
  makeRequest: () => SimulatedRequest,
): Generator<Arrival> {
  let atMs = 0;
  for (let index = 0; index < count; index++) {
    atMs += 1000 * random.gamma(burstiness, 1 / (perSecond * burstiness));
    yield { atMs, request: makeRequest() };
  }
}

/** Everything at one moment, as from a script that knows no bounds. */
export function* atOnce(
  count: number,
  atMs: number,
  makeRequest: () => SimulatedRequest,
): Generator<Arrival> {
  for (let index = 0; index < count; index++) yield { atMs, request: makeRequest() };
}

/** A prompt of its own and an answer, of lengths as in ShareGPT, cut to what the model reaches. */
export function shareGptRequest(
  maxModelLen: number,
  random: Random,
  sender: Sender = {},
): SimulatedRequest {
  const promptTokens = lognormal(SHAREGPT_MEANS.input, (maxModelLen * 3) / 4, random);
  return {
    group: 'all',
    client: '',
    priority: 0,
    promptTokenIds: randomTokens(promptTokens, random),
    outputTokens: lognormal(SHAREGPT_MEANS.output, maxModelLen - promptTokens, random),
    ...sender,
  };
}

export const LONG_PROMPT_MEAN = 1000;

/** A document and a question about it: a prompt that disturbs others, and a short answer. */
export function documentRequest(maxModelLen: number, random: Random): SimulatedRequest {
  const promptTokens = lognormal(LONG_PROMPT_MEAN, (maxModelLen * 3) / 4, random);
  return {
    group: 'document',
    client: '',
    priority: 0,
    promptTokenIds: randomTokens(promptTokens, random),
    outputTokens: lognormal(SHAREGPT_MEANS.output / 4, maxModelLen - promptTokens, random),
  };
}

export interface ChatShape {
  readonly maxModelLen: number;
  /** Texts that conversations begin with. */
  readonly systemPrompts: readonly Int32Array[];
  /** The mean number of turns; a conversation also ends where the model's reach does. */
  readonly meanTurns: number;
  readonly meanPauseMs: number;
}

export const CHAT_MEANS = { user: 60, answer: 150 } as const;

/** The first turn of a conversation: each later one brings the whole text so far. */
export function chatRequest(shape: ChatShape, random: Random): SimulatedRequest {
  const { systemPrompts } = shape;
  const systemPrompt = systemPrompts[random.integer(0, systemPrompts.length - 1)];
  // When its turns come depends on the policy, and what they say must not.
  const ownRandom = new Random(random.integer(0, 2 ** 31));
  return chatTurn(shape, systemPrompt ?? new Int32Array(), 1, ownRandom);
}

function chatTurn(
  shape: ChatShape,
  history: Int32Array,
  turn: number,
  random: Random,
): SimulatedRequest {
  const { maxModelLen, meanTurns, meanPauseMs } = shape;
  const userTokens = lognormal(CHAT_MEANS.user, maxModelLen / 8, random);
  const promptTokenIds = joinTokens(history, randomTokens(userTokens, random));
  const outputTokens = lognormal(CHAT_MEANS.answer, maxModelLen / 8, random);
  const length = promptTokenIds.length + outputTokens;
  const goesOn = random.uniform() < 1 - 1 / meanTurns && length < (maxModelLen * 3) / 4;
  return {
    group: turn === 1 ? 'first turn' : 'later turn',
    client: '',
    priority: 0,
    promptTokenIds,
    outputTokens,
    ...(goesOn && {
      followUp: (id) => ({
        afterMs: random.gamma(2, meanPauseMs / 2),
        request: chatTurn(
          shape,
          joinTokens(promptTokenIds, madeUpOutput(id, outputTokens)),
          turn + 1,
          random,
        ),
      }),
    }),
  };
}

/** The same request from a client that hangs up after a while, whether served or not. */
export function impatient(
  request: SimulatedRequest,
  share: number,
  meanPatienceMs: number,
  random: Random,
): SimulatedRequest {
  if (random.uniform() >= share) return request;
  return { ...request, patienceMs: random.gamma(1, meanPatienceMs) };
}

function lognormal(mean: number, longest: number, random: Random): number {
  const length = drawLength({ kind: 'lognormal', mean, rangeRatio: 0 }, random);
  return Math.max(1, Math.min(length, Math.floor(longest)));
}
