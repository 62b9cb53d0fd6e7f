/** Parts of a conversation. All of it can be stored and exported as JSON. */

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it, which may be wrong. */
  readonly arguments: string;
}

/** A text file, or an image. */
export interface Attachment {
  readonly name: string;
  /** Empty for an image. */
  readonly text: string;
  /** The image as a data URL; left out for a text. */
  readonly image?: string;
}

export interface TokenChoice {
  readonly token: string;
  /** UTF-8; a token may be a part of a character. */
  readonly bytes: readonly number[];
  readonly logprob: number;
}

export interface Token extends TokenChoice {
  readonly top: readonly TokenChoice[];
}

/** Figures of the request that an answer is from. */
export interface AnswerStats {
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  /** Tokens of the prompt that stand for images; left out by older versions. */
  readonly imageTokens?: number;
  /** Tokens of all its answers together. */
  readonly outputTokens: number | null;
  readonly numAnswers: number;
  /** Milliseconds from the request to the first token, and to the end. */
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
  /** Milliseconds of thoughts before the answer; null without. */
  readonly thinkingMs: number | null;
}

export interface Message {
  readonly id: string;
  readonly chatId: string;
  /** Message that it follows; null for a first one. */
  readonly parentId: string | null;
  readonly role: 'user' | 'assistant' | 'tool';
  /** Milliseconds of Unix time. */
  readonly createdAt: number;
  readonly content: string;
  readonly attachments?: readonly Attachment[];
  /** Id of the call that a tool's result answers. */
  readonly toolCallId?: string;

  /** The rest is the assistant's. */
  readonly model?: string;
  readonly state?: 'running' | 'done' | 'stopped' | 'failed';
  readonly error?: string;
  /** The page was left while it was written. */
  readonly isCutOff?: boolean;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason?: string | null;
  /** Tokens of `content`, from where the model wrote it. */
  readonly tokens?: readonly Token[];
  /** Characters of `content` that were given, and not written by the model. */
  readonly givenLength?: number;
  readonly stats?: AnswerStats;
  /** The schema that it has to keep to, as JSON; '' for any JSON. */
  readonly schema?: string;
  /** Answers to the same question that are shown side by side have the same. */
  readonly group?: string;
  /** Milliseconds for which its stream was interrupted, where it went on. */
  readonly resumedAfterMs?: number;
}

export interface ChatSettings {
  /** Null is the first that is loaded. */
  readonly model: string | null;
  /** Answer too, side by side. */
  readonly alsoModels: readonly string[];
  readonly system: string;
  /** Fields of the request, by name. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly output: 'text' | 'json' | 'schema';
  /** JSON schema, as typed. */
  readonly schema: string;
  /** List of tools, as typed. */
  readonly tools: string;
  readonly toolChoice: 'auto' | 'none' | 'required';
  /** Whether tokens come with their alternatives. */
  readonly logprobs: boolean;
}

export const DEFAULT_SETTINGS: ChatSettings = {
  model: null,
  alsoModels: [],
  system: '',
  parameters: {},
  output: 'text',
  schema: '',
  tools: '',
  toolChoice: 'auto',
  logprobs: false,
};

export interface Chat {
  readonly id: string;
  readonly title: string;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly settings: ChatSettings;
  /** Choice among messages that follow the same one, by that one's id or `ROOT`: the id of the shown. */
  readonly chosen: Readonly<Record<string, string>>;
}

/** In place of the id of what first messages follow. */
export const ROOT = 'root';
