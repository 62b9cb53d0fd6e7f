/** Parts of a chat that a template shows, found out by rendering chats with words to look for. */
import type { MessageStyle } from './chat-message.ts';

/** @returns the prompt @throws ChatTemplateError */
export type RunTemplate = (messages: readonly object[], tools: readonly object[]) => string;

const tool = (name: string, description: string, parameter: string) => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: {
      type: 'object',
      properties: { [parameter]: { type: 'string', description: 'its color' } },
      required: [parameter],
    },
  },
});

/** A tool with all that templates look for. */
const NEEDLE = tool('needle', 'sews', 'thread');
/** One that has none of the words. */
export const OTHER_TOOL = tool('press', 'makes flat', 'cloth');

/** Nothing is rendered before it is asked for. */
export class TemplateTraits {
  readonly #run: RunTemplate;
  #style: (MessageStyle & { readonly knowsCalls: boolean }) | null = null;
  #showsTools: boolean | null = null;
  #showsSystem: boolean | null = null;

  constructor(run: RunTemplate) {
    this.#run = run;
  }

  get style(): MessageStyle {
    return this.#found;
  }

  /** Whether calls of tools get into the prompt. */
  get knowsCalls(): boolean {
    return this.#found.knowsCalls;
  }

  /** Whether tools do. */
  get knowsTools(): boolean {
    this.#showsTools ??= this.shows([this.#message('user', 'sew')], ['needle'], [NEEDLE]);
    return this.#showsTools;
  }

  /** Whether a system message does. */
  get knowsSystem(): boolean {
    const messages = [this.#message('system', 'needle'), this.#message('user', 'sew')];
    this.#showsSystem ??= this.shows(messages, ['needle']);
    return this.#showsSystem;
  }

  /** Whether all these words get into the prompt of a chat. */
  shows(
    messages: readonly object[],
    needles: readonly string[],
    tools: readonly object[] = [],
  ): boolean {
    try {
      const prompt = this.#run(messages, tools);
      return needles.every((needle) => prompt.includes(needle));
    } catch {
      // The template refuses this form, which is an answer too.
      return false;
    }
  }

  get #found() {
    if (this.#style !== null) return this.#style;
    const textAsParts = !this.#showsText(false) && this.#showsText(true);
    const showsObjects = this.#showsArguments(false);
    const knowsCalls = showsObjects || this.#showsArguments(true);
    this.#style = { textAsParts, argumentsAsText: knowsCalls && !showsObjects, knowsCalls };
    return this.#style;
  }

  #message(role: string, text: string): object {
    return { role, content: this.style.textAsParts ? [{ type: 'text', text }] : text };
  }

  /** Whether a message's text gets into the prompt; templates differ in the form they take. */
  #showsText(textAsParts: boolean): boolean {
    const content = textAsParts ? [{ type: 'text', text: 'needle' }] : 'needle';
    return this.shows([{ role: 'user', content }], ['needle']);
  }

  #showsArguments(argumentsAsText: boolean): boolean {
    const args = argumentsAsText ? '{"needle": "thread"}' : { needle: 'thread' };
    const call = { id: 'call00000', type: 'function', function: { name: 'sew', arguments: args } };
    const content = this.#showsText(false) ? 'sew' : [{ type: 'text', text: 'sew' }];
    return this.shows(
      [
        { role: 'user', content },
        { role: 'assistant', content: '', tool_calls: [call] },
      ],
      ['needle', 'thread'],
    );
  }
}
