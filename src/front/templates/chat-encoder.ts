/** From a chat to its prompt: rendered by the template, then tokenized. */
import { type ChatMessage, ChatTemplateError, countImages } from './chat-message.ts';
import type { ChatRenderOptions, ChatTemplate } from './chat-template.ts';
import { JoinedTokens } from './joined-tokens.ts';
import { SecretSpelling } from '../text/secret-spelling.ts';
import type { RespelledTokenizer } from '../text/respelled-tokenizer.ts';
import type { ModelVocabulary } from '../text/model-vocabulary.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

export interface RenderedChat {
  readonly text: string;
  /**
   * @param numCharacters to tokenize, from the beginning; all if left out
   * @throws MissingTokenError
   */
  encode(numCharacters?: number): Int32Array;
}

export interface ChatEncoder {
  /** @throws ChatTemplateError as ChatTemplate.render */
  render(messages: readonly ChatMessage[], options: ChatRenderOptions): RenderedChat;
}

/** The text of a special token becomes that token wherever it comes from. For models that take text only. */
export class RawChatEncoder implements ChatEncoder {
  readonly #template: ChatTemplate;
  readonly #tokenizer: TextTokenizer;

  constructor(template: ChatTemplate, tokenizer: TextTokenizer) {
    this.#template = template;
    this.#tokenizer = tokenizer;
  }

  render(messages: readonly ChatMessage[], options: ChatRenderOptions): RenderedChat {
    const text = this.#template.render(messages, options);
    // The template writes the special tokens itself.
    const plain = { addSpecialTokens: false };
    return {
      text,
      encode: (numCharacters) => this.#tokenizer.encode(text.slice(0, numCharacters), plain),
    };
  }
}

/**
 * Special tokens come from the template alone: within messages, tools and variables their text is
 * text like any other. The template has them spelled in secret words, and only those are tokens; so
 * whatever a template does to the texts of a request, it makes no token of them. The mark of an image is one
 * of these words, too: there are as many of them as there are images.
 */
export class PlainChatEncoder implements ChatEncoder {
  readonly #template: ChatTemplate;
  readonly #tokenizer: RespelledTokenizer;
  readonly #vocabulary: ModelVocabulary;
  readonly #spelling: SecretSpelling;
  readonly #joined: JoinedTokens | null;
  /** Null for a model that takes text only. */
  readonly #imageMark: string | null;

  /**
   * @param imageMark text that stands for an image in prompts; null for a model that takes text only
   * @param texts of the tokens that come from the template alone, in addition to that
   */
  constructor(
    template: ChatTemplate,
    tokenizer: TextTokenizer,
    imageMark: string | null = null,
    texts: readonly string[] = tokenizer.specialTexts.filter(isMarkup),
  ) {
    const marks = imageMark === null ? [] : [imageMark];
    this.#spelling = new SecretSpelling([...new Set([...texts, ...marks])]);
    this.#imageMark = imageMark === null ? null : this.#spelling.hide(imageMark);
    this.#template = template.respelled((text) => this.#spelling.hide(text));
    this.#tokenizer = tokenizer.respelled(this.#spelling);
    this.#vocabulary = tokenizer.vocabulary;
    this.#joined = JoinedTokens.of(this.#template, [...this.#spelling.words.keys()]);
  }

  render(messages: readonly ChatMessage[], options: ChatRenderOptions): RenderedChat {
    const marked = this.#renderHidden(messages, options);
    const hidden = this.#withImages(marked, countImages(messages), options.imageTexts);
    return {
      text: this.#spelling.show(hidden),
      encode: (numCharacters) =>
        this.#vocabulary.require(this.#tokenizer.encode(hidden.slice(0, numCharacters))),
    };
  }

  /** @throws ChatTemplateError where the template has left out an image, or writes more marks than there are images */
  #withImages(prompt: string, numImages: number, texts: readonly string[] | undefined): string {
    if (this.#imageMark === null || numImages === 0) return prompt;
    const [before = '', ...after] = prompt.split(this.#imageMark);
    if (after.length !== numImages) {
      throw new ChatTemplateError(`of ${numImages} images it writes ${after.length}`);
    }
    if (texts === undefined) return prompt;
    if (texts.length !== numImages)
      throw new Error(`${numImages} images have ${texts.length} texts`);
    return before + after.map((part, at) => this.#spelling.hide(texts[at] ?? '') + part).join('');
  }

  #renderHidden(messages: readonly ChatMessage[], options: ChatRenderOptions): string {
    try {
      const joined = this.#joined;
      if (joined === null) return this.#template.render(messages, options, this.#imageMark);
      const guarded = messages.map(({ role, ...rest }) => ({ role, ...joined.guard(rest) }));
      const prompt = this.#template.render(guarded, joined.guard(options), this.#imageMark);
      return joined.hide(prompt, this.#spelling);
    } catch (error) {
      if (!(error instanceof ChatTemplateError)) throw error;
      throw new ChatTemplateError(this.#spelling.show(error.message), { cause: error });
    }
  }
}

/** Not words or spaces, which may be anything in a template's code. */
function isMarkup(text: string): boolean {
  return text.length > 2 && /[^\s\w]/.test(text);
}
