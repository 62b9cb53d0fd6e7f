/** Renders a chat into the prompt text a model was trained on, with its own Jinja template. */
import { PythonJinja } from './python-jinja.ts';
import {
  type ChatMessage,
  ChatTemplateError,
  countImages,
  type ImageStyle,
  toTemplateMessage,
} from './chat-message.ts';
import { OTHER_TOOL, TemplateTraits } from './template-traits.ts';
import { type Thinking, ThinkingVariables } from './thinking.ts';
import { callsAsText, toolPrompt, withSystemFirst, withSystemText } from './tools-as-text.ts';
import { readTokenizerConfig, TokenizerError } from '../text/tokenizer-files.ts';
import { reasonOf } from '../../files/system-error.ts';

export interface ChatRenderOptions {
  /** Tool definitions as the API takes them; none is the same as absent. */
  readonly tools?: readonly unknown[] | undefined;
  /** End the prompt with the start of an assistant's message. */
  readonly addGenerationPrompt: boolean;
  /** Leave the last message open, for the model to continue it. */
  readonly continueFinalMessage?: boolean | undefined;
  /** Further variables of the template, such as `enable_thinking`. */
  readonly kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** In the template's own variables, unless `kwargs` have them. */
  readonly thinking?: Thinking | undefined;
  /** Texts in place of the images' marks, in order, with special tokens as they are; the marks if left out. */
  readonly imageTexts?: readonly string[] | undefined;
}

/** Unlikely to be in any chat or template. The space at its end shows if the template trims. */
const CONTINUE_MARK = 'CHAIRLIFT_CONTINUES_HERE ';

/** Name of the template for chats with tools, where there are several. */
const TOOL_USE = 'tool_use';

export class ChatTemplate {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #templates: ReadonlyMap<string, PythonJinja>;
  readonly #variables: Readonly<Record<string, unknown>>;
  /** Traits in chats without tools, and in those with tools. */
  readonly #plain: TemplateTraits;
  readonly #withTool: TemplateTraits;
  readonly #thinking: ThinkingVariables;
  /** Whether there is anything in the templates for OpenAI's newer name of the system role. */
  readonly #knowsDeveloper: boolean;
  /** The Jinja texts, one after the other. */
  readonly text: string;

  /**
   * @param sources Jinja texts by name; `tool_use`, if there, is taken for chats with tools and
   *   `default` for all else
   * @param variables such as `bos_token`, where a request does not say
   * @throws ChatTemplateError if a text isn't a template.
   */
  constructor(sources: ReadonlyMap<string, string>, variables: Readonly<Record<string, unknown>>) {
    const parsed = [...sources].map(([name, source]) => [name, parse(name, source)] as const);
    this.#sources = sources;
    this.#templates = new Map(parsed);
    this.#variables = variables;
    this.text = [...sources.values()].join('\n');
    this.#thinking = new ThinkingVariables(this.text);
    this.#knowsDeveloper = [...sources.values()].some((source) => source.includes('developer'));
    const run = (messages: readonly object[], tools: readonly object[]): string =>
      this.#run(messages, { addGenerationPrompt: false, tools });
    this.#plain = new TemplateTraits(run);
    // The template for tools is never given a chat without any.
    this.#withTool = sources.has(TOOL_USE)
      ? new TemplateTraits((messages, tools) => run(messages, [OTHER_TOOL, ...tools]))
      : this.#plain;
  }

  /**
   * @param other a Jinja text in place of the folder's
   * @param more variables besides the special tokens
   * @returns null if there is none of both
   * @throws TokenizerError naming the folder if it has one that can't be used; ChatTemplateError if the
   *   other one can't be
   */
  static async load(folder: string, other?: string, more = {}): Promise<ChatTemplate | null> {
    const { chatTemplates, specialTokens } = await readTokenizerConfig(folder);
    const variables = { ...specialTokens, ...more };
    if (other !== undefined) return new ChatTemplate(new Map([['default', other]]), variables);
    if (chatTemplates.size === 0) return null;
    try {
      return new ChatTemplate(chatTemplates, variables);
    } catch (error) {
      const reason = reasonOf(error);
      throw new TokenizerError(`${folder}: ${reason}`, { cause: error });
    }
  }

  /** The same template with its Jinja texts and special tokens spelled otherwise. */
  respelled(respell: (text: string) => string): ChatTemplate {
    const sources = [...this.#sources].map(([name, source]) => [name, respell(source)] as const);
    const variables = Object.entries(this.#variables).map(
      ([name, value]) => [name, typeof value === 'string' ? respell(value) : value] as const,
    );
    return new ChatTemplate(new Map(sources), Object.fromEntries(variables));
  }

  /**
   * Encode the result without adding special tokens: the template has written its own.
   * @param imageMark text that stands for an image; null for a model that takes text only
   * @throws ChatTemplateError if the messages are not what the template can take; its message is for
   *   the client, and may be the template's own (`raise_exception`).
   */
  render(
    messages: readonly ChatMessage[],
    options: ChatRenderOptions,
    imageMark: string | null = null,
  ): string {
    if (messages.length === 0) throw new ChatTemplateError('messages must not be empty');
    const known = messages.map((message) => this.#withKnownRole(message));
    const images = this.#imageStyle(known, imageMark);
    try {
      return this.#renderKnown(known, options, images);
    } catch (error) {
      const joined = withSystemFirst(known);
      if (joined === null || !(error instanceof ChatTemplateError)) throw error;
      // The client gets the refusal of its own messages, not of the joined ones.
      return this.#renderOr(error, joined, options, images);
    }
  }

  #renderOr(
    refusal: ChatTemplateError,
    messages: readonly ChatMessage[],
    options: ChatRenderOptions,
    images: ImageStyle | null,
  ): string {
    try {
      return this.#renderKnown(messages, options, images);
    } catch (error) {
      throw error instanceof ChatTemplateError ? refusal : error;
    }
  }

  #renderKnown(
    known: readonly ChatMessage[],
    options: ChatRenderOptions,
    images: ImageStyle | null,
  ): string {
    const { tools = [] } = options;
    // Not twice, where they show with a system message alone.
    const shown = tools.length > 0 && this.knowsTools ? tools : [];
    const traits = shown.length > 0 ? this.#withTool : this.#plain;
    const plain = this.#withTools(known, tools, traits).map((message, i) =>
      toTemplateMessage(message, traits.style, images, `messages[${i}]`),
    );
    if (options.continueFinalMessage !== true)
      return this.#run(plain, { ...options, tools: shown });
    if (options.addGenerationPrompt) {
      throw new ChatTemplateError(
        'add_generation_prompt and continue_final_message exclude each other',
      );
    }
    return this.#runUntilMark(plain, { ...options, tools: shown });
  }

  #withKnownRole(message: ChatMessage): ChatMessage {
    if (message.role !== 'developer' || this.#knowsDeveloper) return message;
    return { ...message, role: 'system' };
  }

  /** As text what the template does not show: tools, or calls and their results. */
  #withTools(
    messages: readonly ChatMessage[],
    tools: readonly unknown[],
    { knowsCalls }: TemplateTraits,
  ): readonly ChatMessage[] {
    const told = knowsCalls ? messages : callsAsText(messages);
    if (tools.length === 0 || this.knowsTools) return told;
    return withSystemText(told, toolPrompt(tools), this.#plain.knowsSystem ? 'system' : 'user');
  }

  /** Whether tools get into the prompt. */
  get knowsTools(): boolean {
    return this.#plain.knowsTools;
  }

  /** Whether calls do, in chats without tools. */
  get knowsCalls(): boolean {
    return this.#plain.knowsCalls;
  }

  #run(messages: readonly object[], options: ChatRenderOptions): string {
    const { tools = [], addGenerationPrompt, kwargs = {}, thinking = null } = options;
    const template =
      (tools.length > 0 ? this.#templates.get(TOOL_USE) : undefined) ??
      this.#templates.get('default');
    if (template === undefined) {
      const names = [...this.#templates.keys()].join(', ');
      throw new ChatTemplateError(`the model has no default chat template, only: ${names}`);
    }
    try {
      return template.render({
        ...this.#variables,
        // Python's None where there is none, as templates are written against transformers.
        documents: null,
        ...this.#thinking.of(thinking),
        ...kwargs,
        messages,
        tools: tools.length > 0 ? tools : null,
        add_generation_prompt: addGenerationPrompt,
      });
    } catch (error) {
      throw new ChatTemplateError(reasonOf(error), {
        cause: error,
      });
    }
  }

  /** Marks the end of the last message and cuts the prompt there, as transformers does. */
  #runUntilMark(messages: readonly Record<string, unknown>[], options: ChatRenderOptions): string {
    const last = messages.at(-1);
    const content = last?.['content'];
    const marked = Array.isArray(content)
      ? [...content, { type: 'text', text: CONTINUE_MARK }]
      : `${String(content)}${CONTINUE_MARK}`;
    const prompt = this.#run([...messages.slice(0, -1), { ...last, content: marked }], options);
    const end = prompt.lastIndexOf(CONTINUE_MARK.trimEnd());
    if (end === -1) {
      throw new ChatTemplateError(
        "continue_final_message: the model's chat template leaves out the last message",
      );
    }
    const keepsSpace = prompt.startsWith(CONTINUE_MARK, end);
    return keepsSpace ? prompt.slice(0, end) : prompt.slice(0, end).trimEnd();
  }

  #imageStyle(messages: readonly ChatMessage[], mark: string | null): ImageStyle | null {
    if (mark === null || countImages(messages) === 0) return null;
    const content = [{ type: 'image' }, { type: 'text', text: 'needle' }];
    return { mark, asParts: this.#plain.shows([{ role: 'user', content }], ['needle', mark]) };
  }
}

function parse(name: string, source: string): PythonJinja {
  try {
    return new PythonJinja(source);
  } catch (error) {
    // Jinja's parser has no helpful message for a text that breaks off.
    const reason = error instanceof TypeError ? 'it breaks off' : String(error);
    throw new ChatTemplateError(`the chat template '${name}' is damaged: ${reason}`, {
      cause: error,
    });
  }
}
