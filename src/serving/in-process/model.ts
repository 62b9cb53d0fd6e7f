/// <reference lib="esnext.disposable" preserve="true" />
/** A model that a program has loaded. */

/** A turn of a conversation. Fields beyond these reach the model's chat template as they are. */
export interface Message {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly MessagePart[];
  readonly [extra: string]: unknown;
}

export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  /** For a model that sees: a PNG, JPEG, WebP or GIF file. `low` costs fewer tokens. */
  | {
      readonly type: 'image';
      readonly image: Uint8Array;
      readonly detail?: 'auto' | 'low' | 'high' | undefined;
    };

/** A text that the model goes on with as it is, or a conversation that it answers. */
export type Prompt = string | readonly Message[];

/** Options of one call. One that is left out, or undefined, is as the model's folder and `loadModel` say. */
export interface GenerateOptions {
  /** Most tokens to generate; as many as fit if left out. */
  readonly maxTokens?: number | undefined;
  /** Tokens to generate before the text may end. */
  readonly minTokens?: number | undefined;
  /** From 0, which always takes the likeliest token, to 2. */
  readonly temperature?: number | undefined;
  /** Draw from the likeliest tokens that have this probability together, above 0 and up to 1. */
  readonly topP?: number | undefined;
  /** Draw from the k likeliest tokens; 0 and -1 are all. */
  readonly topK?: number | undefined;
  /** Draw from tokens with this share of the likeliest one's probability, from 0 to 1. */
  readonly minP?: number | undefined;
  /** Above 1 makes tokens of the text so far less likely; from 0.01 to 10. */
  readonly repetitionPenalty?: number | undefined;
  /** Subtracted from logits of tokens that were generated before; from -2 to 2. */
  readonly presencePenalty?: number | undefined;
  /** The same for each time that they were. */
  readonly frequencyPenalty?: number | undefined;
  /** The same seed gives the same text; 64 bits. */
  readonly seed?: number | bigint | undefined;
  /** Texts that end the generation, and are left out. */
  readonly stop?: string | readonly string[] | undefined;
  /** Tokens that end it. */
  readonly stopTokenIds?: readonly number[] | undefined;
  /** Go on after the model's end of text. */
  readonly ignoreEos?: boolean | undefined;
  /** By token id, added to its logit; from -100 to 100. */
  readonly logitBias?: Readonly<Record<string, number>> | undefined;
  /** Texts that must not be generated. */
  readonly badWords?: readonly string[] | undefined;
  /** Lower goes first; 0 if left out. */
  readonly priority?: number | undefined;
  /** The form of the text: one of these. */
  readonly structuredOutputs?: StructuredOutputs | undefined;
  /** For models whose chat template knows it, such as `low`; `none` turns thinking off. */
  readonly reasoningEffort?: string | undefined;
  /** Further variables for the chat template. */
  readonly templateVariables?: Readonly<Record<string, unknown>> | undefined;
  /** Ends the generation with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The form of a text: one of these. */
export interface StructuredOutputs {
  /** A JSON Schema, as an object or as its text. */
  readonly json?: object | string | undefined;
  readonly regex?: string | undefined;
  readonly choice?: readonly string[] | undefined;
  /** In EBNF. */
  readonly grammar?: string | undefined;
}

/** One piece of a growing text. */
export interface TextDelta {
  /** May be empty: what may become a stop string is held back. */
  readonly text: string;
  /** Thoughts before the answer to a conversation. */
  readonly reasoning: string;
  readonly tokenIds: readonly number[];
  /** Why the text ended, with its last piece alone: `length` where `maxTokens` or the context ends. */
  readonly finishReason: 'stop' | 'length' | null;
}

export interface EmbedOptions {
  /** Length of the vectors; the model's own if left out. */
  readonly dimensions?: number | undefined;
  /** Ends the request with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A model in a process of its own, next to this one. Calls that run at once are batched continuously.
 * Every call throws InvalidRequestError for what can't be served, EngineError where the engine fails,
 * QueueFullError beyond the setting `maxQueue`, ModelClosedError after `close`, and the reason of its
 * signal once that aborts.
 */
export interface Model {
  readonly name: string;
  /** A text encoder makes vectors and nothing else. */
  readonly kind: 'text' | 'encoder';
  /** Longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
  /** The text that follows a prompt, or answers a conversation. */
  generate(prompt: Prompt, options?: GenerateOptions): Promise<string>;
  /** The same as it grows. Leaving the loop ends the generation. */
  stream(prompt: Prompt, options?: GenerateOptions): AsyncIterable<TextDelta>;
  /** A vector of each text, in their order. */
  embed(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array[]>;
  /** The tokens of a prompt, as `generate` takes it. */
  tokenize(prompt: Prompt): Promise<number[]>;
  /** Ends what runs, and the engine's process. Nothing of it keeps this process alive then. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
