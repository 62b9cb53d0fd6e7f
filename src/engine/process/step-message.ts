/**
 * A step's output as one message. Its tokens are numbers in one array: to write and read an object for
 * each token would take both processes several times as long.
 */
import type { TokenOutput } from '../request.ts';
import { type EngineStats, type LoopStats, NO_PREFIX_TIER } from '../stats.ts';
import type { StepRecord } from '../tap/step-record.ts';

/**
 * Details that come with a sequence's first and last token, and with tokens that have
 * log-probabilities.
 */
export type TokenDetails = Omit<TokenOutput, 'id' | 'tokenId'>;

export interface StepMessage {
  readonly type: 'step';
  /** Pairs: the request's id, and its token. Float64, since ids grow as long as the server runs. */
  readonly tokens: Float64Array;
  /** In order of their tokens' places. Most tokens have none. */
  readonly details: readonly PlacedDetails[];
  readonly stats: EngineStats;
  /** Left out while nobody watches. */
  readonly record?: StepRecord;
}

interface PlacedDetails {
  /** Which of the pairs they belong to. */
  readonly place: number;
  readonly details: TokenDetails;
}

export function toStepMessage(
  outputs: readonly TokenOutput[],
  stats: LoopStats,
  record: StepRecord | null = null,
  tier = NO_PREFIX_TIER,
): StepMessage {
  const tokens = new Float64Array(outputs.length * 2);
  const placed: PlacedDetails[] = [];
  for (const [place, output] of outputs.entries()) {
    tokens[place * 2] = output.id;
    tokens[place * 2 + 1] = output.tokenId;
    if (isPlain(output)) continue;
    const { id: _id, tokenId: _tokenId, ...details } = output;
    placed.push({ place, details });
  }
  const message: StepMessage = {
    type: 'step',
    tokens,
    details: placed,
    stats: { ...stats, ...tier },
  };
  return record === null ? message : { ...message, record };
}

function isPlain({ finishReason, numCachedTokens, logprobs, promptLogprobs, values }: TokenOutput) {
  return (
    finishReason === null &&
    numCachedTokens === undefined &&
    logprobs === undefined &&
    promptLogprobs === undefined &&
    values === undefined
  );
}

/** Calls `visit` with every token of a step, in order. */
export function forEachToken(
  { tokens, details: placed }: StepMessage,
  visit: (id: number, tokenId: number, details: TokenDetails | null) => void,
): void {
  let next = 0;
  for (let place = 0; place * 2 < tokens.length; place++) {
    const candidate = placed[next];
    const isItsOwn = candidate?.place === place;
    if (isItsOwn) next++;
    visit(tokens[place * 2] ?? 0, tokens[place * 2 + 1] ?? -1, isItsOwn ? candidate.details : null);
  }
}
