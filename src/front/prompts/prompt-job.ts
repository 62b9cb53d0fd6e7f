/** Makes prompts from texts and chats, and tokenizes other parts of requests. */
import { encodeBadWords } from '../text/bad-words.ts';
import { type ChatMessage, ChatTemplateError } from '../templates/chat-message.ts';
import type { ChatRenderOptions } from '../templates/chat-template.ts';
import { pairMessages } from '../templates/pair-template.ts';
import type { TextModel } from './load-text-model.ts';
import type { InfillText } from '../text/infill.ts';

/** A plain value that crosses threads. */
export type PromptJob =
  | {
      readonly type: 'texts';
      readonly texts: readonly string[];
      /** See TextTokenizer.encode. */
      readonly addSpecialTokens: boolean;
      readonly maxTokens: number;
    }
  | {
      readonly type: 'chat';
      readonly messages: readonly ChatMessage[];
      readonly options: ChatRenderOptions;
      readonly maxTokens: number;
    }
  | { readonly type: 'infill'; readonly text: InfillText; readonly maxTokens: number }
  | {
      readonly type: 'pairs';
      readonly pairs: readonly (readonly [query: string, document: string])[];
      /** The end of the document is cut if the prompt is longer; what is left may still be too long. */
      readonly maxTokens: number;
    }
  | { readonly type: 'bad-words'; readonly words: readonly string[] }
  | { readonly type: 'decode'; readonly tokenIds: readonly number[] };

export interface EncodedPrompt {
  readonly text: string;
  readonly tokenIds: Int32Array;
}

/** A text is so long that it must exceed the token limit; it was not tokenized. */
export class PromptTooLongError extends Error {
  override readonly name = 'PromptTooLongError';
  readonly numCharacters: number;
  /** The fewest tokens that it can have. */
  readonly minTokens: number;

  constructor(numCharacters: number, minTokens: number) {
    super(`${numCharacters} characters come to at least ${minTokens} tokens`);
    this.numCharacters = numCharacters;
    this.minTokens = minTokens;
  }
}

export type PromptModel = Pick<TextModel, 'tokenizer' | 'chat' | 'pairs' | 'infill'>;

/**
 * @returns one for each text, pair or bad word, or the chat's, or the decoded text's
 * @throws ChatTemplateError if the chat can't be rendered; its message is for the client
 * @throws PromptTooLongError, MissingTokenError
 */
export function runPromptJob(model: PromptModel, job: PromptJob): EncodedPrompt[] {
  const { tokenizer, chat } = model;
  switch (job.type) {
    case 'texts': {
      const { addSpecialTokens, maxTokens } = job;
      return job.texts.map((text) => {
        const encode = (part: string) => tokenizer.encode(part, { addSpecialTokens });
        requireFitting(tokenizer, text, maxTokens, encode);
        return { text: '', tokenIds: encode(text) };
      });
    }
    case 'chat': {
      if (chat === null) throw new ChatTemplateError('the model has no chat template');
      const prompt = chat.render(job.messages, job.options);
      const { text } = prompt;
      requireFitting(tokenizer, text, job.maxTokens, ({ length }) => prompt.encode(length));
      return [{ text, tokenIds: prompt.encode() }];
    }
    case 'infill': {
      const { text, maxTokens } = job;
      if (model.infill === null) throw new Error('the model fills in no text');
      const whole = text.prefix + text.suffix + text.begun;
      requireFitting(tokenizer, whole, maxTokens, (part) =>
        tokenizer.encode(part, { addSpecialTokens: false }),
      );
      return [{ text: '', tokenIds: model.infill.encode(text, maxTokens) }];
    }
    case 'pairs':
      return job.pairs.map((pair) => {
        const tokenIds = encodePair(model, pair, job.maxTokens);
        return { text: '', tokenIds };
      });
    case 'bad-words':
      return encodeBadWords(tokenizer, job.words).map((tokenIds) => ({ text: '', tokenIds }));
    case 'decode': {
      const text = tokenizer.decode(job.tokenIds, { skipSpecialTokens: false });
      return [{ text, tokenIds: new Int32Array() }];
    }
  }
}

/** A document's end is what comes between its text and what the template has after it. */
function encodePair(
  { tokenizer, pairs }: PromptModel,
  [query, document]: readonly [string, string],
  maxTokens: number,
): Int32Array {
  requireShort(tokenizer, query, maxTokens);
  const encode = (text: string) =>
    pairs()
      .render(pairMessages([query, text]), PAIR_OPTIONS)
      .encode();
  // A document with more characters has more than `maxTokens` tokens.
  const whole = encode(document.slice(0, maxTokens * tokenizer.maxTokenCharacters));
  if (whole.length <= maxTokens) return whole;
  const withoutDocument = encode('');
  if (withoutDocument.length > maxTokens) return withoutDocument;
  const numAfter = commonEnd(whole, withoutDocument);
  const numBefore = maxTokens - numAfter;
  const isKept = (at: number) => at < numBefore || at >= whole.length - numAfter;
  return whole.filter((_id, at) => isKept(at));
}

const PAIR_OPTIONS = { addGenerationPrompt: true };

function commonEnd(a: Int32Array, b: Int32Array): number {
  let count = 0;
  while (count < b.length && a.at(-1 - count) === b.at(-1 - count)) count++;
  return count;
}

/** @throws PromptTooLongError */
export function requireShort(
  { maxTokenCharacters }: Pick<TextModel['tokenizer'], 'maxTokenCharacters'>,
  text: string,
  maxTokens: number,
): void {
  const minTokens = Math.ceil(text.length / maxTokenCharacters);
  if (minTokens > maxTokens) throw new PromptTooLongError(text.length, minTokens);
}

/** Characters of a long text that are tokenized first, for each token that it may have. */
const CHARACTERS_FIRST = 3;
/**
 * Tokens that those must come to, for each that the text may have, so that the whole is too long. Not just
 * more than one: where the beginning is cut off, a word of many letters may be parted otherwise.
 */
const TOKENS_FIRST = 1.5;

/**
 * Before a text is tokenized: also refuses one that is far too long by its beginning, since tokenizing takes
 * 300 bytes and 5 us for a character, and a megabyte of digits is a million tokens.
 * @param encode tokenizes a beginning of `text`
 * @throws PromptTooLongError
 */
function requireFitting(
  tokenizer: TextModel['tokenizer'],
  text: string,
  maxTokens: number,
  encode: (beginning: string) => Int32Array,
): void {
  requireShort(tokenizer, text, maxTokens);
  const numCharacters = CHARACTERS_FIRST * maxTokens;
  // Tokenizing the beginning as well costs more than it saves where the text is not much longer.
  if (text.length < 2 * numCharacters) return;
  const { length } = encode(text.slice(0, numCharacters));
  if (length > TOKENS_FIRST * maxTokens) throw new PromptTooLongError(text.length, length);
}

/** Cost of a value in addition to its characters: a message goes through the template's loop. */
const CHARACTERS_PER_VALUE = 8;

/** Whether a value and all in it have more than `limit` characters, counted no further than that. */
export function isLongerThan(limit: number, value: unknown): boolean {
  return charactersOf(value, limit) > limit;
}

/** Characters of a value and all in it, counted no further than past `limit`. */
export function charactersOf(value: unknown, limit = Infinity): number {
  let count = 0;
  const pending: unknown[] = [value];
  while (pending.length > 0 && count <= limit) {
    const next = pending.pop();
    count += CHARACTERS_PER_VALUE;
    if (typeof next === 'string') {
      count += next.length;
    } else if (Array.isArray(next)) {
      // A list may have very many numbers: they are counted at once.
      for (const part of next as readonly unknown[]) {
        if (typeof part === 'number') count += CHARACTERS_PER_VALUE;
        else pending.push(part);
      }
    } else if (typeof next === 'object' && next !== null) {
      for (const [name, part] of Object.entries(next)) {
        count += name.length;
        pending.push(part);
      }
    }
  }
  return count;
}
