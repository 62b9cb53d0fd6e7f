/**
 * The bookkeeping of a beam search, as Transformers' `generate(num_beams=...)` does it: which texts go
 * on, which have ended, and when nothing better can come. Knows no engine: it is told what is likely.
 */
import type { Logprobs } from '../../engine/request.ts';

/** How a request searches. */
export interface BeamSettings {
  /** Texts that go on at a time. */
  readonly width: number;
  /** Power of a text's length that its log-probability is divided by; 0 leaves it as it is. */
  readonly lengthPenalty: number;
  /**
   * True ends the search with the first `width` texts that have ended. False ends it when no text looks
   * better than those at its present length, `never` when none could become better at any length.
   */
  readonly earlyStopping: boolean | 'never';
}

export interface BeamSearchOptions extends BeamSettings {
  readonly maxTokens: number;
  /** Tokens before which no stop token may come. */
  readonly minTokens: number;
  readonly stopTokenIds: readonly number[];
  /** Likeliest tokens to keep beside each token; null keeps nothing but the tokens. */
  readonly logprobs: number | null;
}

/** One text that goes on: a chain of its tokens, whose beginning others share. */
export interface Beam {
  /** Null before the first token. */
  readonly parent: Beam | null;
  /** Last of its tokens; -1 before the first. */
  readonly tokenId: number;
  /** Tokens so far. */
  readonly length: number;
  /** Log-probability of all of them, a float32 as the reference's. */
  readonly score: number;
  /** Log-probabilities of its last token; null where nobody asks. */
  readonly logprobs: Logprobs | null;
}

/** A text that has ended. */
export interface FoundText {
  readonly beam: Beam;
  /** Log-probability, divided by the power of its length. */
  readonly score: number;
  readonly finishReason: 'stop' | 'length';
}

interface Candidate {
  readonly parent: Beam;
  readonly tokenId: number;
  readonly score: number;
  readonly isStop: boolean;
  /** The engine's answer for the place, and where the token is in it. */
  readonly told: Logprobs;
  readonly column: number;
}

const START: Beam = { parent: null, tokenId: -1, length: 0, score: 0, logprobs: null };

/** Each step takes the likeliest tokens after every live beam. */
export class BeamSearch {
  readonly #options: BeamSearchOptions;
  readonly #stops: ReadonlySet<number>;
  #live: readonly Beam[] = [START];
  /** At most `width`, the best first. */
  #found: FoundText[] = [];
  #isOver = false;

  constructor(options: BeamSearchOptions) {
    this.#options = options;
    this.#stops = new Set(options.stopTokenIds);
  }

  /** Likeliest tokens that a step has to know of each beam: enough if all stop tokens are among them. */
  get numCandidates(): number {
    const { width, logprobs } = this.#options;
    return Math.max(width + this.#stops.size, logprobs ?? 0);
  }

  /** Beams that go on, the likeliest first; at most `width`. */
  get live(): readonly Beam[] {
    return this.#live;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Texts that have ended, the best first. */
  get found(): readonly FoundText[] {
    return this.#found;
  }

  /** @param rows of each live beam the likeliest next tokens, after one that does not matter */
  advance(rows: readonly Logprobs[]): void {
    const { maxTokens } = this.#options;
    const { best, others } = this.#candidatesOf(rows);
    const length = (this.#live[0]?.length ?? 0) + 1;
    const isFull = length >= maxTokens;
    for (const candidate of best) {
      if (candidate.isStop || isFull) this.#end(candidate);
    }
    this.#live = isFull ? [] : others.map((candidate) => this.#toBeam(candidate));
    this.#isOver = this.#live.length === 0 || !this.#mayImprove(length);
  }

  /**
   * @returns `best`: the likeliest texts of all, of which those that end are found; `others`: the
   *   likeliest of those that do not end
   */
  #candidatesOf(rows: readonly Logprobs[]): {
    readonly best: readonly Candidate[];
    readonly others: readonly Candidate[];
  } {
    const { width, minTokens } = this.#options;
    const best: Candidate[] = [];
    const others: Candidate[] = [];
    for (const [index, parent] of this.#live.entries()) {
      const told = rows[index];
      if (told === undefined) throw new Error('every beam needs its candidates');
      for (let column = 1; column < told.tokenIds.length; column++) {
        const tokenId = told.tokenIds[column] ?? -1;
        // A vocabulary may have fewer tokens than were asked for.
        if (tokenId < 0) continue;
        const isStop = this.#stops.has(tokenId);
        if (isStop && parent.length < minTokens) continue;
        const score = Math.fround(parent.score + (told.logprobs[column] ?? -Infinity));
        const candidate = { parent, tokenId, score, isStop, told, column };
        insert(best, candidate, width);
        // All that follow in this row are less likely.
        if (!isStop && !insert(others, candidate, width)) break;
      }
    }
    return { best, others };
  }

  #end(candidate: Candidate): void {
    const beam = this.#toBeam(candidate);
    const score = Math.fround(beam.score / beam.length ** this.#options.lengthPenalty);
    const finishReason = candidate.isStop ? 'stop' : 'length';
    insert(this.#found, { beam, score, finishReason }, this.#options.width);
  }

  /** Whether a live beam could become better than the worst text that has ended. */
  #mayImprove(length: number): boolean {
    const { width, earlyStopping, lengthPenalty, maxTokens } = this.#options;
    const worst = this.#found.at(-1);
    if (worst === undefined || this.#found.length < width) return true;
    if (earlyStopping === true) return false;
    const hopes = earlyStopping === 'never' && lengthPenalty > 0;
    const best = this.#live[0]?.score ?? -Infinity;
    return Math.fround(best / (hopes ? maxTokens : length) ** lengthPenalty) > worst.score;
  }

  #toBeam({ parent, tokenId, score, told, column }: Candidate): Beam {
    const { logprobs: numTop } = this.#options;
    const logprobs = numTop === null ? null : logprobsAt(told, column, numTop);
    return { parent, tokenId, length: parent.length + 1, score, logprobs };
  }
}

/** A beam's tokens, from the first on. */
export function tokensOf(beam: Beam): Int32Array<ArrayBuffer> {
  const tokenIds = new Int32Array(beam.length);
  for (let at: Beam | null = beam; at !== null && at.length > 0; at = at.parent) {
    tokenIds[at.length - 1] = at.tokenId;
  }
  return tokenIds;
}

/** Log-probabilities of its tokens; empty where nobody asks. */
export function logprobsOf(beam: Beam): Logprobs[] {
  const logprobs: Logprobs[] = [];
  for (let at: Beam | null = beam; at !== null; at = at.parent) {
    if (at.logprobs !== null) logprobs.push(at.logprobs);
  }
  return logprobs.toReversed();
}

/**
 * The same beams in an order in which those that go on from one that was computed before keep its place,
 * as far as they can: keys and values of those need not move.
 * @param before the beams of the step before, in the order that they were computed in
 */
export function inPlace(beams: readonly Beam[], before: readonly Beam[]): Beam[] {
  const places: (Beam | undefined)[] = Array.from({ length: beams.length });
  const placeOf = new Map(before.map((beam, place) => [beam, place]));
  const rest: Beam[] = [];
  for (const beam of beams) {
    const place = beam.parent === null ? undefined : placeOf.get(beam.parent);
    if (place !== undefined && place < places.length && places[place] === undefined)
      places[place] = beam;
    else rest.push(beam);
  }
  const left = rest.values();
  return places.flatMap((beam) => beam ?? left.next().value ?? []);
}

/** Puts an item behind those that are as good. @returns false where there is no room for it */
function insert<Item extends { readonly score: number }>(
  items: Item[],
  item: Item,
  most: number,
): boolean {
  let place = items.length;
  while (place > 0 && (items[place - 1]?.score ?? 0) < item.score) place--;
  if (place >= most) return false;
  items.splice(place, 0, item);
  if (items.length > most) items.pop();
  return true;
}

/** The entry of the token in a column, with so many of the likeliest. */
function logprobsAt(told: Logprobs, column: number, numTop: number): Logprobs {
  const tokenIds = Int32Array.of(
    told.tokenIds[column] ?? -1,
    ...told.tokenIds.subarray(1, 1 + numTop),
  );
  const logprobs = Float32Array.of(
    told.logprobs[column] ?? 0,
    ...told.logprobs.subarray(1, 1 + numTop),
  );
  return { tokenIds, logprobs, ranks: Int32Array.of(column) };
}
