import type { Candidates } from './candidates.ts';
import { argmax } from './argmax.ts';
import { draw } from './draw.ts';
import { isGreedy } from './greedy.ts';
import { logitsAreUsedWhole } from '../logits-use.ts';
import { processLogits } from './logit-processors.ts';
import { LogprobsTable } from './logprobs.ts';
import { readOut } from './readout.ts';
import type { Sequence } from '../sequence.ts';
import type {
  SampledSegment,
  SampledToken,
  SegmentLogits,
  SequenceFailure,
  StepOutcome,
  StepResult,
} from '../step.ts';
import type { Constraints, TokenMask } from './constraints.ts';
import type { ThoughtBudgets } from './thought-budget.ts';
import { isAllowed } from './token-mask.ts';
import { TokenRanking } from './token-ranking.ts';

const INVALID_LOGITS = 'the model computed no valid logits';

/** Facts about a row besides its logits. */
interface KnownOfRow {
  readonly candidates: Candidates | undefined;
  /** The id of the highest logit, before anything is applied to them. */
  readonly best: number | undefined;
  /** The token that it must be, if a grammar allows it; null where it is drawn. */
  readonly forced: number | null;
}

/**
 * Draws the tokens after each segment. Knows nothing of the batch: a token is a function of its
 * logits, its sequence's parameters, its seed and its position.
 */
export class Sampler {
  readonly #ranking: TokenRanking;
  /** The logits of the row at hand that log-probabilities are of: as the model gave them; [vocab]. */
  readonly #rawLogits: Float32Array;
  readonly #constraints: Constraints | null;
  readonly #thoughts: ThoughtBudgets | null;
  readonly #vocabSize: number;

  /** @param constraints null where no request can have any; so is `thoughts` */
  constructor(
    vocabSize: number,
    constraints: Constraints | null = null,
    thoughts: ThoughtBudgets | null = null,
  ) {
    this.#constraints = constraints;
    this.#thoughts = thoughts;
    this.#vocabSize = vocabSize;
    this.#ranking = new TokenRanking(vocabSize);
    this.#rawLogits = new Float32Array(vocabSize);
  }

  /** A sequence whose logits are not numbers fails alone; one that scores its prompt draws nothing. */
  sample({ logits, failures }: StepResult): StepOutcome {
    const constrained = this.#constraints?.constrain(logits) ?? { ready: logits, failures: [] };
    const sampled: SampledSegment[] = [];
    const failed = [...failures, ...constrained.failures];
    for (const result of constrained.ready) {
      const { segment } = result;
      if (segment.sequence.scoresPrompt) {
        scorePrompt(result);
        continue;
      }
      const { readout } = segment.sequence.request;
      if (readout) {
        const values = readOut(result, readout);
        if (values) sampled.push({ segment, tokens: [], values });
        else failed.push({ sequence: segment.sequence, message: INVALID_LOGITS });
        continue;
      }
      const tokens = this.#sampleSegment(result, failed);
      if (tokens.length > 0) sampled.push({ segment, tokens });
    }
    return { sampled, failures: failed };
  }

  /**
   * One token, and one more after each draft token that is the one just drawn: the draft is verified
   * by drawing what would have been drawn without it.
   */
  #sampleSegment(
    { segment, logits, best, candidates }: SegmentLogits,
    failures: SequenceFailure[],
  ): SampledToken[] {
    const { sequence, draftTokenIds } = segment;
    const { numTokens } = sequence;
    const tokens: SampledToken[] = [];
    for (const [index, row] of logits.entries()) {
      const mask = this.#constraints ? this.#constraints.maskOf(sequence, index) : 'free';
      if (mask === null) break;
      const forced = this.#thoughts?.forcedToken(sequence, index) ?? null;
      const known = { candidates, best: best?.[index], forced };
      const token = this.#sampleRow(sequence, row, mask === 'free' ? null : mask, known);
      if (token === null) {
        failures.push({ sequence, message: INVALID_LOGITS });
        break;
      }
      tokens.push(token);
      // The next draw depends on the text so far. Commit appends the tokens for good.
      sequence.append(token.tokenId);
      if (token.tokenId !== draftTokenIds[index] || sequence.finishReason() !== null) break;
    }
    sequence.truncate(numTokens);
    return tokens;
  }

  /** @returns null where nothing was drawn, or only an id outside the vocabulary */
  #sampleRow(
    sequence: Sequence,
    logits: Float32Array,
    mask: TokenMask | null,
    { candidates, best, forced }: KnownOfRow,
  ): SampledToken | null {
    const { logprobs, speechRule } = sequence.request;
    const isTold = logprobs !== null && !candidates;
    if (isTold) this.#rawLogits.set(logits);
    const known = logitsAreUsedWhole(sequence) ? undefined : best;
    if (!candidates) processLogits(logits, sequence, mask);
    // How likely a text of speech is tells whether it is a guess, and what it has no place for is no choice.
    if (isTold && speechRule) this.#rawLogits.set(logits);
    const isForced = forced !== null && (mask === null || isAllowed(mask, forced));
    const pickToken = () => {
      const index = this.#pick(sequence, logits, known ?? argmax(logits), candidates?.restWeight);
      return candidates ? (candidates.tokenIds[index] ?? -1) : index;
    };
    const tokenId = isForced ? forced : pickToken();
    if (tokenId < 0 || tokenId >= this.#vocabSize) return null;
    if (logprobs === null || candidates) return withPromptLogprobs({ tokenId }, sequence);
    const table = new LogprobsTable(1, logprobs);
    table.set(0, this.#rawLogits, tokenId);
    return withPromptLogprobs({ tokenId, logprobs: table.toMessage() }, sequence);
  }

  /** @returns an index into `logits`, or -1 when none of them is a finite number */
  #pick(sequence: Sequence, logits: Float32Array, best: number, restWeight = 0): number {
    const { sampling } = sequence.request;
    if (isGreedy(sampling) || best === -1) return best;
    return draw(this.#ranking, logits, best, sampling, sequence.numTokens, restWeight);
  }
}

/** The segment is a single token of the prompt, and the logits say how likely the one after it is. */
function scorePrompt({ segment: { sequence, start }, logits: [logits] }: SegmentLogits): void {
  const [tokenId = -1] = sequence.tokenIds(start + 1, start + 2);
  if (logits) sequence.promptLogprobs?.set(start, logits, tokenId);
}

/** Adds what the prompt was scored with to its first token. */
function withPromptLogprobs(token: SampledToken, sequence: Sequence): SampledToken {
  if (sequence.promptLogprobs === null || sequence.numOutputTokens > 0) return token;
  return { ...token, promptLogprobs: sequence.promptLogprobs.toMessage() };
}
