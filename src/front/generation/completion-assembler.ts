/** Makes the deltas of one completion out of the engine's tokens. */
import { Detokenizer } from '../text/detokenizer.ts';
import type { TokenBatch } from '../engine-process/engine-contract.ts';
import type { GenerationDelta, GenerationRequest } from './generation.ts';
import { LogprobAssembler, scorePrompt } from './logprob-assembler.ts';
import { StopStrings, type StopStringsOutput } from '../text/stop-strings.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

export class CompletionAssembler {
  readonly #tokenizer: TextTokenizer;
  readonly #request: GenerationRequest;
  readonly #detokenizer: Detokenizer;
  readonly #stopStrings: StopStrings;
  readonly #logprobs = new LogprobAssembler();
  /** Offsets of the tokens since the last delta; null if the request does not ask for them. */
  #textOffsets: number[] | null;
  /** Length of the whole text so far, in UTF-16 units. */
  #textLength = 0;
  #numTokens = 0;

  constructor(tokenizer: TextTokenizer, request: GenerationRequest) {
    this.#tokenizer = tokenizer;
    this.#request = request;
    this.#detokenizer = new Detokenizer(tokenizer, request);
    this.#stopStrings = new StopStrings(request.stop, {
      includeStop: request.includeStopStrInOutput,
    });
    this.#textOffsets = request.textOffsets === true ? [] : null;
  }

  /**
   * Token by token, so that neither text nor token count depends on how the engine's output was cut
   * into batches: what was generated beyond a stop string is dropped.
   * @returns the last delta, with a finish reason, when a stop string was found or the batch ends it.
   */
  push(batch: TokenBatch): GenerationDelta {
    const { text, tokenIds, finishReason, stopReason } = this.#pushTokens(batch);
    const { logprobs, promptLogprobs, numCachedTokens, values } = batch;
    return {
      text,
      tokenIds,
      finishReason,
      stopReason,
      logprobs: logprobs && this.#logprobs.take(),
      promptLogprobs: promptLogprobs && scorePrompt(promptLogprobs, this.#tokenizer, this.#request),
      numCachedTokens,
      textOffsets: this.#takeTextOffsets(),
      values,
    };
  }

  #pushTokens(batch: TokenBatch): GenerationDelta {
    const { tokenIds, finishReason } = batch;
    let text = '';
    for (const [index, tokenId] of tokenIds.entries()) {
      const isStopToken = finishReason === 'stop' && index === tokenIds.length - 1;
      const isShown = !isStopToken || this.#request.includeStopStrInOutput;
      const piece = isShown ? this.#detokenizer.push([tokenId]) : '';
      this.#textOffsets?.push(this.#textLength);
      this.#textLength += piece.length;
      const logprobs = batch.logprobs?.[index];
      if (logprobs) {
        this.#logprobs.add(logprobs, piece, isShown && this.#detokenizer.isShown(tokenId));
      }
      if (!isShown) break;
      const output = this.#check(piece);
      text += output.text;
      if (output.stopped !== null) {
        return finish(text, tokenIds.slice(0, index + 1), 'stop', output.stopped);
      }
    }
    if (finishReason === null) return { text, tokenIds, finishReason, stopReason: null };
    for (const output of [
      this.#stopStrings.push(this.#detokenizer.flush()),
      this.#stopStrings.flush(),
    ]) {
      text += output.text;
      if (output.stopped !== null) return finish(text, tokenIds, 'stop', output.stopped);
    }
    return finish(text, tokenIds, finishReason, this.#stopTokenOf(batch));
  }

  #takeTextOffsets(): number[] | undefined {
    if (this.#textOffsets === null) return undefined;
    const offsets = this.#textOffsets;
    this.#textOffsets = [];
    return offsets;
  }

  /** Stop strings within the first `minTokens` tokens end nothing, as in vLLM. */
  #check(text: string): StopStringsOutput {
    this.#numTokens++;
    return this.#numTokens <= this.#request.minTokens
      ? { text, stopped: null }
      : this.#stopStrings.push(text);
  }

  #stopTokenOf({ tokenIds, finishReason }: TokenBatch): number | null {
    const tokenId = tokenIds.at(-1);
    const isNamed = tokenId !== undefined && this.#request.stopTokenIds.includes(tokenId);
    return finishReason === 'stop' && isNamed ? tokenId : null;
  }
}

function finish(
  text: string,
  tokenIds: readonly number[],
  finishReason: 'stop' | 'length',
  stopReason: string | number | null,
): GenerationDelta {
  return { text, tokenIds, finishReason, stopReason };
}
