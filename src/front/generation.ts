/** What the server asks of the front for one completion, and what it gets back as the text grows. */
import type { SamplingParams } from '../engine/messages.ts';

export interface GenerationRequest {
  readonly promptTokenIds: Int32Array;
  readonly maxTokens: number;
  readonly minTokens: number;
  /** Texts that end the generation; they may span tokens. */
  readonly stop: readonly string[];
  readonly includeStopStrInOutput: boolean;
  readonly stopTokenIds: readonly number[];
  readonly ignoreEos: boolean;
  /** Leave special tokens such as `<|im_end|>` out of the text. */
  readonly skipSpecialTokens: boolean;
  readonly sampling: SamplingParams;
}

/** One piece of a growing completion. The last one, and only it, has a finish reason. */
export interface GenerationDelta {
  /** May be empty: bytes of an unfinished character and possible stop strings are held back. */
  readonly text: string;
  /** Every generated token exactly once, stop tokens included. */
  readonly tokenIds: readonly number[];
  readonly finishReason: 'stop' | 'length' | null;
  /** The stop string or stop token id that ended it; null for end-of-sequence and length (as vLLM). */
  readonly stopReason: string | number | null;
}

export interface Generator {
  /**
   * Queues and runs one request. Ending the iteration early or aborting frees everything it holds.
   * @throws QueueFullError before anything is queued; EngineError when the engine fails the request;
   *   the signal's reason on abort.
   */
  generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<GenerationDelta, void>;
}
