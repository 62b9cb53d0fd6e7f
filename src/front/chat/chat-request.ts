/** Request of a client to a chat, whichever API it came by. */
import type { GrammarSource, ToolDefinition, TextGrammar } from '../../grammar/grammar-source.ts';
import { LIMITS } from '../../limits.ts';
import type { ContextLimits } from '../generation/fit-context.ts';
import type { GenerationSettings } from '../generation/generation.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatMessage } from '../templates/chat-message.ts';
import type { Thinking } from '../templates/thinking.ts';
import type { ChatImage } from './chat-images.ts';

/** A tool, or several, that the answer must call; or leave it to the model. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** As templates show it: fields beyond these, such as `description`, reach them as they are. */
export interface ChatTool extends ToolDefinition {
  readonly type: 'function';
}

/** Fields that shape the prompt. */
export interface ChatPrompt {
  readonly messages: readonly ChatMessage[];
  /** Those that the image parts of all messages stand for, in order; left out where there are none. */
  readonly images?: readonly ChatImage[];
  readonly tools: readonly ChatTool[];
  readonly toolChoice: ToolChoice;
  /** Names of tools that must not be called; none if left out. */
  readonly withheldTools?: ReadonlySet<string>;
  /** End the prompt with the start of an assistant's message. */
  readonly addGenerationPrompt: boolean;
  /** Leave the last message open, for the model to continue it. */
  readonly continueFinalMessage: boolean;
  /** Further variables of the template, such as `enable_thinking`. */
  readonly templateVariables: Readonly<Record<string, unknown>> | null;
  /** Left to the template if left out. */
  readonly thinking?: Thinking;
}

/** How long thoughts may be. */
export interface ThinkingBudget {
  /** Null for as long as the output, whatever the server's default is. */
  readonly maxTokens: number | null;
  /** The client's name for it, for errors. */
  readonly field: string;
}

export interface ChatRequest extends ChatPrompt {
  /** The server's default if null or left out. */
  readonly thinkingBudget?: ThinkingBudget | null;
  /** Whether an answer may hold more than one tool call. */
  readonly parallelToolCalls: boolean;
  /** Grammars of custom tools' texts, by the tool's name; none if left out. */
  readonly textGrammars?: ReadonlyMap<string, TextGrammar>;
  /** Form of an answer that calls no tool; null for free text. */
  readonly responseFormat: GrammarSource | null;
  /** Sampling, stop strings, log-probabilities and all else that the prompt does not decide. */
  readonly settings: Omit<GenerationSettings, 'badWords'>;
  readonly badWords: readonly string[];
  /** Sequences to generate. */
  readonly numChoices: number;
  /** As of FanOutRequest. */
  readonly streamInterval?: number;
  /** How the API calls its fields where APIs differ: `prompt` is that of the messages. */
  readonly limits: ContextLimits;
}

/** Before they are looked at. @throws InvalidRequestError */
export function requireFewMessages(messages: readonly unknown[], field: string): void {
  if (messages.length <= LIMITS.messages) return;
  throw new InvalidRequestError(
    `\`${field}\`: expected at most ${LIMITS.messages} items, found ${messages.length}.`,
    field,
    'invalid_value',
  );
}

/**
 * Bounds messages: a body of an API can become more of them, or longer ones, than it had.
 * @throws InvalidRequestError
 */
export function requireMessages(messages: readonly ChatMessage[], field: string): void {
  if (messages.length === 0) {
    throw new InvalidRequestError(`\`${field}\` must not be empty.`, field, 'invalid_value');
  }
  requireFewMessages(messages, field);
  const numCalls = Math.max(...messages.map((message) => message.tool_calls?.length ?? 0));
  if (numCalls > LIMITS.messageParts) {
    throw new InvalidRequestError(
      `\`${field}\`: expected at most ${LIMITS.messageParts} tool calls in a turn, found ${numCalls}.`,
      field,
      'invalid_value',
    );
  }
}
