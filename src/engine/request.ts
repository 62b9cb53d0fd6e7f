import type { GrammarSpec } from '../grammar/grammar-spec.ts';

/** LoRA adapter added to a model's weights for one request. */
export interface EngineAdapter {
  /** The same for adapters of the same content. */
  readonly id: string;
  /** Path of the file that prepareLiveAdapter wrote. */
  readonly path: string;
  /** Factor of all that it adds; usually 1. */
  readonly scale: number;
}

/** How the next token is drawn from the logits. Every field is set; the front fills in defaults. */
export interface SamplingParams {
  /** 0 is greedy, and so are values very close to it. */
  readonly temperature: number;
  /** Keep the k most likely tokens; 0 keeps all. */
  readonly topK: number;
  /** Keep the smallest set of tokens whose probabilities reach p; 1 keeps all. */
  readonly topP: number;
  /** Keep tokens at least this share as likely as the likeliest; 0 keeps all. */
  readonly minP: number;
  /** Divides (positive) or multiplies (negative) logits of tokens seen in prompt or output; 1 is off. */
  readonly repetitionPenalty: number;
  /** Subtracted once from the logits of tokens seen in the output; 0 is off. */
  readonly presencePenalty: number;
  /** Subtracted from the logits per occurrence in the output; 0 is off. */
  readonly frequencyPenalty: number;
  /** 64 bits. Randomness is a function of (seed, position) alone. */
  readonly seed: bigint;
  /** Biases added to the logits of single tokens; null when nothing is. */
  readonly logitBias: LogitBias | null;
  /** The only tokens that may be sampled; null allows all. */
  readonly allowedTokenIds: Int32Array | null;
  /** Left out where none of them is on. */
  readonly extra?: ExtraSamplers;
}

/** Samplers of llama.cpp that vLLM lacks. Each is off where it is left out. */
export interface ExtraSamplers {
  /** Keep tokens whose logits are within so many standard deviations of the highest. */
  readonly topNSigma?: number;
  /** Keep the tokens whose surprise is nearest to the entropy, up to this share of the probability. */
  readonly typicalP?: number;
  readonly xtc?: ExcludeTopChoices;
  readonly dynamic?: TemperatureRange;
  readonly dry?: DryPenalty;
}

/** Removes all tokens of at least `threshold` but the least likely of them, with some probability. */
export interface ExcludeTopChoices {
  readonly probability: number;
  readonly threshold: number;
}

/** Lets the temperature grow with the entropy, from `temperature` - range to `temperature` + range. */
export interface TemperatureRange {
  readonly range: number;
  readonly exponent: number;
}

/** Lowers the logits of tokens that go on with a repetition; see dry.ts. */
export interface DryPenalty {
  readonly multiplier: number;
  readonly base: number;
  /** Tokens that may be repeated without a penalty; at least 1. */
  readonly allowedLength: number;
  /** Tokens of prompt and output that are looked at; -1 is all. */
  readonly lastTokens: number;
  /** Tokens that end a repetition, ascending. */
  readonly breakers: Int32Array;
}

export interface LogitBias {
  readonly tokenIds: Int32Array;
  /** One for each of `tokenIds`. */
  readonly biases: Float32Array;
}

/** Waiting this long counts as much as one level of priority, so that nothing waits forever. */
export const AGING_MS = 60_000;

/** Salt of prompts that the operator had computed: all requests find them. No client can name it. */
export const PUBLIC_SALT = '\0public';
/** Salt of texts that are computed for the time they take. No client can name it either. */
export const WARM_UP_SALT = '\0warm-up';

/** How a model marks its thoughts, token by token. Texts are spelled as GrammarVocabulary has them. */
export interface ThoughtMarks {
  /** Without white space around it. */
  readonly open: string;
  /** Its first character occurs nowhere else in it. */
  readonly close: string;
  /** For each place in `close` a token that goes on with it; -1 within tokens that are whole only. */
  readonly closing: Int32Array;
  /** Whether a thought may follow another one, until `answer` begins the answer. */
  readonly recurs: boolean;
  /** Text from the end of a thought to the answer, where thoughts recur; otherwise empty. */
  readonly answer: string;
  /** The same of `answer`. */
  readonly answering: Int32Array;
  /** Texts of special tokens that are part of these. */
  readonly specialTexts: ReadonlyMap<number, string>;
}

/** Bound on the tokens of thoughts. */
export interface ThoughtBudget extends ThoughtMarks {
  /** Tokens of all thoughts together, without their marks. */
  readonly maxTokens: number;
  /** Whether the prompt ends within a thought. */
  readonly isOpen: boolean;
}

/** Tokens that a text of speech has no place for. */
export interface SpeechRule {
  /** Those that never come. */
  readonly suppressed: Int32Array;
  /** Those that don't come first. */
  readonly suppressedFirst: Int32Array;
  /** Left out where a text has no timestamps. */
  readonly timestamps?: TimestampRule;
}

/** Whisper's rule of timestamps, the last ids of its vocabulary. */
export interface TimestampRule {
  /** Id of the first, of time 0. */
  readonly first: number;
  /** Id of the token that says there are none. */
  readonly none: number;
  /** Id of the end of a text; those below are its words. */
  readonly end: number;
  /** How many after the first one a text may begin with; null for any. */
  readonly maxInitial: number | null;
}

/** Embeddings that stand in for tokens of a prompt: rows of an image, or of speech. */
export interface PromptEmbeddings {
  /** Position in the prompt of the first. */
  readonly start: number;
  /** [numTokens, hidden], float32 */
  readonly rows: Float32Array<ArrayBuffer>;
  /** How they lie in the image, row by row; left out where positions do not depend on it. */
  readonly grid?: EmbeddingGrid | undefined;
  /** Position where attention of its tokens ends, one more than the last of theirs. Left out where it is causal. */
  readonly attentionEnd?: number | undefined;
}

export interface EmbeddingGrid {
  readonly height: number;
  readonly width: number;
}

export interface EngineRequest {
  /** Chosen by the front, unique in the life of the engine process. */
  readonly id: number;
  /** Ids below 0 are embeddings': see prompt-embeddings.ts. */
  readonly promptTokenIds: Int32Array;
  /** In order; left out where all of the prompt is tokens. */
  readonly embeddings?: readonly PromptEmbeddings[];
  /** Tokens already generated, when a request is taken up again after a crash; otherwise empty. */
  readonly outputTokenIds: Int32Array;
  /** Bound on all generated tokens, `outputTokenIds` included. */
  readonly maxTokens: number;
  /** Any of these ends the sequence with reason `stop`. Includes the end-of-sequence ids unless ignored. */
  readonly stopTokenIds: readonly number[];
  /** No stop token may be sampled before this many tokens were generated. */
  readonly minTokens: number;
  /** Lower goes first, as in vLLM; usually 0. */
  readonly priority: number;
  /**
   * Tier of its service class; usually 0. Requests of a higher tier give up their slots for it, and
   * wait where they would hold it up.
   */
  readonly tier: number;
  /** Milliseconds between its tokens that steps are planned for; null leaves that to the scheduler. */
  readonly targetItlMs: number | null;
  /** When the request arrived, in milliseconds of any clock that all requests share. */
  readonly arrivalMs: number;
  /** Cached prefixes are shared only among requests with the same salt, and with `PUBLIC_SALT`. */
  readonly cacheSalt: string;
  /** Set if only the prompt's keys and values in the cache are wanted: see BackgroundPrefill. */
  readonly background?: 'prefetch' | 'pin';
  /**
   * Set for one of several ways on from the same text, of which each has one token computed: `main` for
   * the likeliest. The texts of the others are the first to make way in the prefix cache.
   */
  readonly branch?: 'main' | 'side';
  readonly sampling: SamplingParams;
  /** The grammar of the output; null leaves it free. Its end needs an end-of-sequence token. */
  readonly grammar: GrammarSpec | null;
  /** Left out where thoughts may be as long as the output. */
  readonly thought?: ThoughtBudget;
  /** Left out but for texts of speech. */
  readonly speechRule?: SpeechRule;
  /** Token sequences that the output must not contain. */
  readonly badWords: readonly Int32Array[];
  /** Report each output token's log-probability and those of this many likeliest; null reports none. */
  readonly logprobs: number | null;
  /** The same for the tokens of the prompt, which is then computed token by token. */
  readonly promptLogprobs: number | null;
  /**
   * Values to read after the prompt, in place of generated tokens: the sequence ends with its prefill.
   * Left out where tokens are wanted.
   */
  readonly readout?: Readout;
  /** For those who look into the engine, which does nothing with it. */
  readonly label?: RequestLabel;
  /** Null or left out for the model alone. */
  readonly adapter?: EngineAdapter | null;
}

/** Names of a request, for people. */
export interface RequestLabel {
  /** The name that its client gave it, or the one that was reported to the client. */
  readonly requestId: string | null;
  readonly serviceClass: string | null;
}

/** Output of a model after the last token of a prompt. */
export type Readout =
  /** The last norm's output, [hidden]: what embeddings are made of. */
  | { readonly kind: 'hidden' }
  /** The logits of these tokens. */
  | { readonly kind: 'logits'; readonly tokenIds: Int32Array };

export type FinishReason = 'stop' | 'length' | 'error';

/**
 * Log-probabilities at consecutive positions: the log-softmax of the model's logits, before penalties,
 * bans and temperature change them (vLLM's `raw_logprobs`).
 */
export interface Logprobs {
  /** [positions, 1 + k]: the token that is there, then the k likeliest in order. */
  readonly tokenIds: Int32Array;
  /** [positions, 1 + k] */
  readonly logprobs: Float32Array;
  /** [positions]: the rank of the token that is there, 1 for the likeliest. */
  readonly ranks: Int32Array;
}

/** One generated token of one sequence. */
export interface TokenOutput {
  readonly id: number;
  /** -1 when the sequence ended without a token (an error). */
  readonly tokenId: number;
  readonly finishReason: FinishReason | null;
  /** Set with finishReason `error`. */
  readonly error?: string;
  /** The error is that of the request's grammar. */
  readonly isOfGrammar?: boolean;
  /** Prompt tokens that were found in the cache, in whole blocks; comes with the first token. */
  readonly numCachedTokens?: number;
  /** Log-probabilities at the token, when the request asks for them. */
  readonly logprobs?: Logprobs;
  /**
   * Log-probabilities of every prompt token but the first, when the request asks for them; come with
   * the first token.
   */
  readonly promptLogprobs?: Logprobs;
  /** Values of the request's readout; come without a token. */
  readonly values?: Float32Array;
}
