/** What a request says about the form of its output, before any work is spent on it. */

/** A tool as the API takes it. */
export interface ToolDefinition {
  readonly function: {
    readonly name: string;
    /** A JSON Schema; a tool without it takes no arguments. */
    readonly parameters?: unknown;
  };
}

/** How a model writes its tool calls. */
export interface ToolCallLayout {
  /** What comes before the calls. */
  readonly open: string;
  /** Whether calls are known without `open` where the text starts with one. */
  readonly openIsOptional: boolean;
  /** What encloses the calls after `open`, and what separates them; empty where nothing does. */
  readonly list: { readonly start: string; readonly separator: string; readonly end: string };
  /** The key of a call's arguments. */
  readonly argumentsKey: 'arguments' | 'parameters';
}

/** The output must call one or several of these tools. */
export interface RequiredTools {
  readonly layout: ToolCallLayout;
  readonly tools: readonly ToolDefinition[];
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
  | ({ readonly kind: 'tools' } & RequiredTools);

/** Plain data; a thread makes a GrammarSpec of it. */
export interface GrammarSource {
  readonly form: GrammarForm;
  /** The request's field it came from, for errors. */
  readonly field: string;
  /**
   * The model thinks aloud before the output: `open` when the prompt has opened the thought already,
   * `optional` when the model may open one.
   */
  readonly thought?: 'open' | 'optional';
}
