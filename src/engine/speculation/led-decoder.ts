import type { Decoder, Segment, StepPlan, StepResult } from '../step.ts';

/**
 * A decoder that computes one token before a segment once more, where somebody lacks the hidden state there: a
 * sequence that goes on from a kept prefix has keys and values of it, and nothing else.
 */
export class LedDecoder implements Decoder {
  readonly #decoder: Decoder;
  readonly #lacks: (segment: Segment) => boolean;

  /** @param lacks whether the hidden state before a segment is lacking */
  constructor(decoder: Decoder, lacks: (segment: Segment) => boolean) {
    this.#decoder = decoder;
    this.#lacks = lacks;
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    const led = segments.map((segment) => {
      const { start, numTokens } = segment;
      return this.#lacks(segment)
        ? { ...segment, start: start - 1, numTokens: numTokens + 1 }
        : segment;
    });
    return this.#decoder.execute({ cacheOperations, segments: led });
  }

  release(): void {
    this.#decoder.release();
  }
}
