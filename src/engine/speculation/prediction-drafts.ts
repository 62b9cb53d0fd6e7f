import type { HiddenSink, Predicted, PredictionModule, PredictionRun } from '../prediction.ts';
import { isEmbedding } from '../prompt-embeddings.ts';
import { Sampler } from '../sampling/sampler.ts';
import type { Sequence } from '../sequence.ts';
import { type Segment, segmentOf } from '../step.ts';
import type { Draft, DraftSource } from './draft-source.ts';
import { shadowOf } from './shadow.ts';
import { TokenCost } from './token-cost.ts';
import { WaitingRows } from './waiting-rows.ts';

const PRIOR_RATE = 0.7;
/** Positions of an output that wait at most for the module to follow, while no draft is wanted. */
const MOST_WAITING = 16;
const NOTHING: Draft = { tokenIds: new Int32Array(), kinds: [] };

export interface PredictionDraftsOptions {
  readonly module: PredictionModule;
  readonly vocabSize: number;
  /** Moves memory to where the cache's bookkeeping says that it is: the module reads slots between two steps. */
  readonly settle: () => void;
}

/**
 * Drafts from the model's own module for multi-token prediction. At each position it reads the model's hidden
 * state there and the token after it. So it follows the model: through prompts at once, through texts some tokens
 * later. Tokens are drawn with the sequence's own parameters, seed and positions.
 */
export class PredictionDrafts implements DraftSource, HiddenSink {
  readonly isFree = false;
  readonly #options: PredictionDraftsOptions;
  readonly #sampler: Sampler;
  readonly #waiting = new WeakMap<Sequence, WaitingRows>();
  readonly #cost = new TokenCost();

  constructor(options: PredictionDraftsOptions) {
    this.#options = options;
    this.#sampler = new Sampler(options.vocabSize);
    options.module.follow(this);
  }

  priorRate(): number {
    return PRIOR_RATE;
  }

  costMs(numTokens: number): number {
    return this.#cost.ofTokens(numTokens);
  }

  take({ sequence, start, numTokens }: Segment, rows: Float32Array): void {
    let waiting = this.#waiting.get(sequence);
    if (!waiting) this.#waiting.set(sequence, (waiting = new WaitingRows()));
    waiting.put(start, rows, numTokens);
    // Rows of drafts may be wrong, and the token after the last row is not known yet.
    const end = Math.min(waiting.end, sequence.numTokens - 1);
    // Others may go on from a prompt as soon as it is computed.
    const most = start < sequence.numPromptTokens ? 1 : MOST_WAITING;
    if (end - waiting.start >= most) this.#follow(sequence, waiting, end);
  }

  /** Whether the position before a segment was computed for another text, and not for its sequence. */
  lacksBefore({ sequence, start }: Segment): boolean {
    const waiting = this.#waiting.get(sequence);
    const isNext = waiting !== undefined && start >= waiting.start && start <= waiting.end;
    const [before = -1] = sequence.tokenIds(start - 1, start);
    // Parts of an image are not computed apart.
    return start > 0 && !isNext && !isEmbedding(before);
  }

  draft(sequence: Sequence, numTokens: number): Draft {
    const waiting = this.#waiting.get(sequence);
    const end = sequence.numTokens - 1;
    // Nothing is known of a text whose last tokens an earlier process computed.
    if (!waiting || waiting.end < end || waiting.start >= end) return NOTHING;
    this.#options.settle();
    const shadow = shadowOf(sequence);
    let predicted = this.#follow(sequence, waiting, end);
    while (predicted !== null) {
      const tokenId = this.#draw(shadow, predicted.logits);
      if (tokenId === null) break;
      shadow.append(tokenId);
      if (shadow.numTokens === sequence.numTokens + numTokens) break;
      predicted = this.#run({
        slot: sequence.slot,
        start: shadow.numTokens - 2,
        tokenIds: Int32Array.of(tokenId),
        hidden: predicted.hidden,
      });
    }
    const tokenIds = shadow.tokenIds(sequence.numTokens).slice();
    return { tokenIds, kinds: Array.from(tokenIds, () => 0) };
  }

  /** Computes the positions that wait, up to `end`, exclusive; null when the module fails. */
  #follow(sequence: Sequence, waiting: WaitingRows, end: number): Predicted | null {
    const { start } = waiting;
    const tokenIds = sequence.tokenIds(start + 1, end + 1);
    return this.#run({ slot: sequence.slot, start, tokenIds, hidden: waiting.follow(end) });
  }

  #run(run: PredictionRun): Predicted | null {
    const startedAt = performance.now();
    try {
      const predicted = this.#options.module.run(run);
      if (run.tokenIds.length === 1) this.#cost.observe(performance.now() - startedAt);
      return predicted;
    } catch {
      // Without drafts the text is the same.
      return null;
    }
  }

  /** Draws a shadow's next token; null where none can be drawn. */
  #draw(shadow: Sequence, logits: Float32Array): number | null {
    const results = [{ segment: segmentOf(shadow, 1, shadow.numTokens - 1), logits: [logits] }];
    const { sampled } = this.#sampler.sample({ logits: results, failures: [], timedRuns: [] });
    return sampled[0]?.tokens[0]?.tokenId ?? null;
  }

  release(): void {}
}
