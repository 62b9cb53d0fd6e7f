import type { ChatMessage } from './chat-message.ts';
import type { ChatRenderOptions, ChatTemplate } from './chat-template.ts';
import { anyOf, type SecretSpelling, secretWord } from '../text/secret-spelling.ts';

const TEXT = 'needle';
const TURNS: readonly ChatMessage[] = ['system', 'user', 'assistant', 'user'].map((role) => ({
  role,
  content: TEXT,
}));
const CALL = { id: TEXT, type: 'function', function: { name: TEXT, arguments: '{}' } };
const PROBES: readonly (readonly ChatMessage[])[] = [
  TURNS,
  TURNS.slice(1),
  [
    ...TURNS.slice(0, 2),
    { role: 'assistant', content: TEXT, tool_calls: [CALL] },
    { role: 'tool', content: TEXT, tool_call_id: TEXT, name: TEXT },
  ],
];
const PARAMETERS = { type: 'object', properties: { needle: { type: 'string' } } };
const TOOL = { type: 'function', function: { name: TEXT, parameters: PARAMETERS } };
const PROBE_OPTIONS: readonly ChatRenderOptions[] = [
  { addGenerationPrompt: true },
  { addGenerationPrompt: true, tools: [TOOL] },
];

/**
 * Special tokens that a template joins from parts, such as `'<|' + message.role + '|>'`: they show in
 * the rendered text only. Their text in a request is kept apart from them by a mark within it.
 */
export class JoinedTokens {
  readonly #texts: readonly string[];
  readonly #pattern: RegExp;
  readonly #mark = secretWord();

  private constructor(texts: readonly string[], pattern: RegExp) {
    this.#texts = texts;
    this.#pattern = pattern;
  }

  /** Those among `texts` that appear in chats without them; null for none, as in most templates. */
  static of(template: ChatTemplate, texts: readonly string[]): JoinedTokens | null {
    const prompts = PROBES.flatMap((messages) =>
      PROBE_OPTIONS.map((options) => tryRender(template, messages, options)),
    );
    const joined = texts.filter((text) => prompts.some((prompt) => prompt.includes(text)));
    const pattern = anyOf(joined);
    return pattern === null ? null : new JoinedTokens(joined, pattern);
  }

  /** A copy of `value` in which no string is such a text, nor a part that could be joined to one. */
  guard<Value>(value: Value): Value {
    return this.#guard(value) as Value;
  }

  /** The prompt of guarded messages, with the words of `spelling` for what the template joined. */
  hide(prompt: string, spelling: SecretSpelling): string {
    const hidden = prompt.replace(this.#pattern, (text) => spelling.hide(text));
    return hidden.replaceAll(this.#mark, '');
  }

  #guard(value: unknown): unknown {
    if (typeof value === 'string') return this.#guardText(value);
    if (Array.isArray(value)) return value.map((item: unknown) => this.#guard(item));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, item]) => [name, this.#guard(item)]));
  }

  #guardText(text: string): string {
    const parted = text.replace(
      this.#pattern,
      (found) => `${found[0]}${this.#mark}${found.slice(1)}`,
    );
    const isInner = text !== '' && this.#texts.some((joined) => joined.includes(text));
    const before =
      isInner || this.#texts.some((joined) => overlaps(joined, text)) ? this.#mark : '';
    const after = isInner || this.#texts.some((joined) => overlaps(text, joined)) ? this.#mark : '';
    return before + parted + after;
  }
}

/** Whether `first` ends with what `second` begins with, neither of them whole. */
function overlaps(first: string, second: string): boolean {
  for (let length = 1; length < Math.min(first.length, second.length); length++) {
    if (first.endsWith(second.slice(0, length))) return true;
  }
  return false;
}

function tryRender(
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: ChatRenderOptions,
): string {
  try {
    return template.render(messages, options);
  } catch {
    // A template that refuses tools or systems joins no tokens for them.
    return '';
  }
}
