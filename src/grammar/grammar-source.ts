/** Request's description of the form of its output, before any work is spent on it. */
import type { ToolCallLayout } from './tool-call-layout.ts';

/** A tool as the API takes it. */
export interface ToolDefinition {
  readonly function: {
    readonly name: string;
    /** A JSON Schema; a tool without it takes no arguments. */
    readonly parameters?: unknown;
    /** Whether a call keeps to it also where none is required. */
    readonly strict?: boolean | null | undefined;
  };
}

/** A tool whose one argument, `input`, is a text of a grammar of its own. */
export interface TextGrammar {
  readonly syntax: 'lark' | 'regex';
  readonly definition: string;
}

/** The argument of such a tool. */
export const TEXT_ARGUMENT = 'input';

/** The output must call one or several of these tools, or may, where calls are as their schemas say. */
export interface ToolCalls {
  readonly layout: ToolCallLayout;
  readonly tools: readonly (ToolDefinition & { readonly input?: TextGrammar | undefined })[];
  readonly isRequired: boolean;
  /** Whether there may be more than one call. */
  readonly parallel: boolean;
}

export type GrammarForm =
  | { readonly kind: 'json_object' }
  /** A JSON Schema, or the text of one. */
  | { readonly kind: 'json_schema'; readonly schema: unknown }
  | { readonly kind: 'regex'; readonly pattern: string }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'ebnf'; readonly ebnf: string }
  /** One that another form has become: a GrammarSpec's. */
  | { readonly kind: 'compiled'; readonly text: string }
  | { readonly kind: 'lark'; readonly definition: string }
  | ({ readonly kind: 'tools' } & ToolCalls);

/** Plain data; a thread makes a GrammarSpec of it. */
export interface GrammarSource {
  readonly form: GrammarForm;
  /** The request's field it came from, for errors. */
  readonly field: string;
  /** The model thinks aloud before the output. */
  readonly thought?: ThoughtLayout;
}

/** A thought or other text before the output. */
export interface ThoughtLayout {
  readonly open: string;
  /** Its first character is nowhere else in it. */
  readonly close: string;
  /** The prompt has opened the thought already; otherwise the model may open one. */
  readonly isOpen: boolean;
  /** Between the thought and what comes next. */
  readonly next: string;
  /** Before an output that is no tool call. */
  readonly answer: string;
}
