/** Request for one completion, and the deltas that the front returns as the text grows. */
import type {
  EngineAdapter,
  Readout,
  SamplingParams,
  SpeechRule,
  ThoughtBudget,
} from '../../engine/request.ts';
import type { GrammarSpec } from '../../grammar/grammar-spec.ts';
import type { BeamSettings } from './beam-search.ts';
import type { RequestRecord } from '../request-record.ts';
import type { PromptImage } from './prompt-image.ts';
import type { PromptSpeech } from './prompt-speech.ts';
import type { ResumedChoice } from './resumption.ts';
import type { ServiceClass } from '../service-classes/service-class.ts';
import type { TokenLogprob } from './token-logprob.ts';

/** Part of a text that is left out once it fills its context: half of what comes after its first tokens. */
export interface ContextShift {
  /** Longest text that is computed, in tokens. */
  readonly contextLength: number;
  /** Tokens that stay, from the first on; at most half of the context. */
  readonly numKept: number;
}

export interface GenerationRequest {
  /** Ids below 0 are embeddings'. */
  readonly promptTokenIds: Int32Array;
  /** Images that stand in the prompt; none if left out. */
  readonly images?: readonly PromptImage[];
  /** Window of speech that its text is of; its embeddings come first in the prompt. Left out for none. */
  readonly speech?: PromptSpeech;
  /** Tokens that a text of speech has no place for; left out for others. */
  readonly speechRule?: SpeechRule;
  readonly maxTokens: number;
  /** How the text goes on beyond its context. Left out where it fits. */
  readonly shift?: ContextShift;
  readonly minTokens: number;
  /** Texts that end the generation; they may span tokens. */
  readonly stop: readonly string[];
  readonly includeStopStrInOutput: boolean;
  readonly stopTokenIds: readonly number[];
  readonly ignoreEos: boolean;
  /** Leave special tokens such as `<|im_end|>` out of the text. */
  readonly skipSpecialTokens: boolean;
  readonly sampling: SamplingParams;
  /** Whether the request named the seed; false if left out. */
  readonly hasSeed?: boolean;
  /** Search for texts in place of drawing one. Drawn if left out. */
  readonly beams?: BeamSettings & {
    /** Texts to tell, the best first, each a choice of its own; at most `width`. */
    readonly numTexts: number;
  };
  /** The compiled grammar of the output. Free if left out. */
  readonly grammar?: GrammarSpec;
  /** Left out where thoughts may be as long as the output. */
  readonly thought?: ThoughtBudget;
  /** Token sequences that the output must not contain; see bad-words.ts. */
  readonly badWords: readonly Int32Array[];
  /** Report each token's log-probability and those of this many likeliest; null reports none. */
  readonly logprobs: number | null;
  /** The same for the tokens of the prompt. */
  readonly promptLogprobs: number | null;
  /** Read this after the prompt, in place of generating text; `maxTokens` is 0 then. */
  readonly readout?: Readout;
  /** Report where in the text each token begins. */
  readonly textOffsets?: boolean;
  /** Lower goes first, as in vLLM; 0 if left out. */
  readonly priority?: number;
  /** The service class that its client asked for, by any of its names; what it gets is below. */
  readonly serviceTier?: string | null;
  /** Service class that it gets; treated as all others if left out. */
  readonly serviceClass?: ServiceClass;
  /** Client of the request; clients share the server evenly. */
  readonly client?: string;
  /** The longest that it may take, waiting included; the server's own limit if null or left out. */
  readonly timeoutMs?: number | null;
  /** Share cached prefixes only with requests of the same salt. */
  readonly cacheSalt?: string;
  /** Slot of its client that its text is noted for, as llama-server numbers them; -1 and left out are 0. */
  readonly slot?: number;
  /** Record of the request that it is a part of. */
  readonly record?: RequestRecord;
  /**
   * It takes the place of a part of the same request that has just ended, so a full queue does not
   * refuse it.
   */
  readonly isNextPart?: boolean;
  /** Where it stands, if it began elsewhere. */
  readonly resumed?: ResumedChoice | undefined;
  /** LoRA adapter that is added to the model's weights; none if null or left out. */
  readonly adapter?: EngineAdapter | null;
}

/** Parameters of a generation that do not depend on the prompt's length. */
export interface GenerationSettings extends Omit<
  GenerationRequest,
  'promptTokenIds' | 'maxTokens' | 'grammar' | 'shift'
> {
  /** Tokens that stay where the context is shifted, from the first on: -1 for the prompt; 0 if left out. */
  readonly numKept?: number;
}

/** Whether its texts are searched for. */
export function isSearch({ beams }: GenerationRequest): boolean {
  return beams !== undefined;
}

/** The tokens of one piece of a growing answer, whatever is made of their text. */
export interface TokenDelta {
  /** Which of the request's choices it belongs to; 0 if left out. */
  readonly choice?: number | undefined;
  /** Every generated token exactly once, stop tokens included. */
  readonly tokenIds: readonly number[];
  /** Tokens that were computed since the last piece, where they are others than `tokenIds`. */
  readonly numSpentTokens?: number | undefined;
  /** The last piece of a choice has one, and only it. */
  readonly finishReason: string | null;
  /** The stop string or stop token id that ended it; null for end-of-sequence and length (as vLLM). */
  readonly stopReason: string | number | null;
  /** One for each of `tokenIds`, if the request asks for them. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
  /**
   * Log-probabilities of every prompt token but the first, with the first token, if the request asks
   * for them.
   */
  readonly promptLogprobs?: readonly TokenLogprob[] | undefined;
  /** Prompt tokens that were found in the cache, in whole blocks; known with the first token. */
  readonly numCachedTokens?: number | undefined;
  /** Whether its reader has it already, since the answer began elsewhere; false if left out. */
  readonly isSeen?: boolean;
  /** Tokens that are known to be of a thought since the last piece; null where the model has none. */
  readonly numReasoningTokens?: number | null;
}

/** One piece of a growing completion. */
export interface GenerationDelta extends TokenDelta {
  /** May be empty: bytes of an unfinished character and possible stop strings are held back. */
  readonly text: string;
  /**
   * Where each of `tokenIds` begins in the whole text, in UTF-16 units, if the request asks for it. A
   * token within a character begins where that does.
   */
  readonly textOffsets?: readonly number[] | undefined;
  /** Values that the request's readout has read. */
  readonly values?: Float32Array | undefined;
  readonly finishReason: 'stop' | 'length' | null;
}

/** Tokens that were computed for a piece, which is what is counted and charged. */
export function spentTokens({ tokenIds, numSpentTokens }: TokenDelta): number {
  return numSpentTokens ?? tokenIds.length;
}

/** Can be left early. */
export interface GenerationDeltas extends AsyncIterableIterator<GenerationDelta, void> {
  return(): Promise<IteratorResult<GenerationDelta, void>>;
}

export interface Generator {
  /**
   * Queues and runs one request. Ending the iteration early or aborting frees everything it holds.
   * @param mayStart an admitted request goes to the engine once this is fulfilled
   * @throws QueueFullError before anything is queued; EngineError when the engine fails the request;
   *   the signal's reason on abort.
   */
  generate(
    request: GenerationRequest,
    signal: AbortSignal,
    mayStart?: Promise<void>,
  ): GenerationDeltas;
}
