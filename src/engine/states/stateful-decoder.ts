import { type Decoder, type Segment, segmentOf, type StepPlan, type StepResult } from '../step.ts';
import type { StateCache } from './state-cache.ts';

/**
 * Runs a model with states. A segment begins where its sequence's state is, which may be some tokens behind.
 * One that passes a place of a snapshot is computed up to there first. Logits are wanted of last parts alone,
 * and these run together, as segments do otherwise.
 */
export class StatefulDecoder implements Decoder {
  readonly #decoder: Decoder;
  readonly #states: StateCache;

  constructor(decoder: Decoder, states: StateCache) {
    this.#decoder = decoder;
    this.#states = states;
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    const results: StepResult[] = [];
    let operations = cacheOperations;
    let left = segments.map((segment) => this.#fromState(segment));
    for (;;) {
      const first = left.filter((segment) => this.#isLong(segment));
      if (first.length === 0) break;
      const parts = first.map((segment) => this.#upToBorder(segment));
      const result = this.#decoder.execute({ cacheOperations: operations, segments: parts });
      results.push(result);
      operations = [];
      const failed = new Set(result.failures.map(({ sequence }) => sequence));
      left = left
        .filter(({ sequence }) => !failed.has(sequence))
        .map((segment) => (this.#isLong(segment) ? this.#afterBorder(segment) : segment));
    }
    results.push(this.#decoder.execute({ cacheOperations: operations, segments: left }));
    return {
      logits: results.flatMap(({ logits }) => logits),
      failures: results.flatMap(({ failures }) => failures),
      timedRuns: results.flatMap(({ timedRuns }) => timedRuns),
    };
  }

  #fromState(segment: Segment): Segment {
    const numBehind = this.#states.numBehind(segment.sequence);
    const { start, numTokens } = segment;
    return { ...segment, start: start - numBehind, numTokens: numTokens + numBehind };
  }

  /** No snapshot is of a draft, which may be wrong. */
  #isLong({ sequence, start, numTokens, draftTokenIds }: Segment): boolean {
    return start + numTokens - draftTokenIds.length > this.#states.borderAfter(sequence, start);
  }

  #upToBorder({ sequence, start }: Segment): Segment {
    return segmentOf(sequence, this.#states.borderAfter(sequence, start) - start, start);
  }

  /**
   * Rest of a segment whose first part was computed. That part counts at once: the state before
   * it is not needed any more, whatever comes of the rest.
   */
  #afterBorder(segment: Segment): Segment {
    const { sequence, start } = segment;
    const border = this.#states.borderAfter(sequence, start);
    sequence.numComputedTokens = border;
    this.#states.advance(sequence);
    return { ...segment, start: border, numTokens: segment.numTokens - (border - start) };
  }

  release(): void {
    this.#decoder.release();
  }
}
