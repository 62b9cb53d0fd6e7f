import { type ChatEncoder, PlainChatEncoder, RawChatEncoder } from '../templates/chat-encoder.ts';
import { ChatTemplate } from '../templates/chat-template.ts';
import { pairTemplate } from '../templates/pair-template.ts';
import { ChatTemplateError } from '../templates/chat-message.ts';
import {
  type GenerationDefaults,
  readBannedWords,
  readGenerationDefaults,
} from '../text/generation-config.ts';
import { ignoredRules } from '../text/ignored-rules.ts';
import { MissingTokenError } from '../text/model-vocabulary.ts';
import { placeholderTokenizer } from '../text/placeholder-tokenizer.ts';
import { TokenizerError } from '../text/tokenizer-files.ts';
import { TextTokenizer } from '../text/tokenizer.ts';
import { InfillEncoder } from '../text/infill.ts';

/** Where the text side of a model is; a plain value that crosses threads. */
export interface TextSource {
  /** Where tokenizer and chat template are; null for a bare shape, which has neither. */
  readonly folder: string | null;
  readonly vocabSize: number;
  /** Whether special tokens' texts in messages become those tokens; false if left out. */
  readonly specialTokensInContent?: boolean;
  /** A Jinja text in place of the folder's. */
  readonly chatTemplate?: string | undefined;
  /** Variables of the chat template where a request does not say. */
  readonly templateVariables?: Readonly<Record<string, unknown>> | undefined;
  /** Text that stands for an image in prompts; left out for a model that takes text only. */
  readonly imageMark?: string | undefined;
}

/** The text side of a model. */
export interface TextModel {
  readonly tokenizer: TextTokenizer;
  /** Null when the model has none: it can complete, but not chat. */
  readonly chatTemplate: ChatTemplate | null;
  /** Null without a chat template. */
  readonly chat: ChatEncoder | null;
  /** Encoder of a query and a document; see `pairMessages`. Made when it is first used. */
  readonly pairs: () => ChatEncoder;
  /** Null for a model that fills in no text. */
  readonly infill: InfillEncoder | null;
  readonly generationDefaults: GenerationDefaults;
  /** Sequences of tokens that none of its texts has. */
  readonly bannedWords: readonly Int32Array[];
  /** Warnings for the operator who loads the model. */
  readonly warnings: readonly string[];
}

/** @throws TokenizerError naming the file that is missing, damaged or of another model */
export async function loadTextModel(source: TextSource): Promise<TextModel> {
  const { folder, vocabSize, chatTemplate: other, templateVariables } = source;
  if (folder === null) {
    const tokenizer = placeholderTokenizer(vocabSize);
    const pairs = lazily(() => new RawChatEncoder(pairTemplate(null), tokenizer));
    return {
      tokenizer,
      chatTemplate: null,
      chat: null,
      pairs,
      infill: null,
      generationDefaults: {},
      bannedWords: [],
      warnings: [],
    };
  }
  const [tokenizer, chatTemplate, generationDefaults] = await Promise.all([
    TextTokenizer.load(folder, vocabSize),
    ChatTemplate.load(folder, other, templateVariables),
    readGenerationDefaults(folder),
  ]);
  const chat = chatTemplate === null ? null : chatEncoder(chatTemplate, tokenizer, source);
  const pairs = lazily(() => chatEncoder(pairTemplate(chatTemplate), tokenizer, source));
  const { warning } = tokenizer.vocabulary;
  const warnings = [
    ...(warning === null ? [] : [warning, ...furtherWarnings(folder, tokenizer, chat)]),
    ...(await ignoredRules(folder)),
  ];
  const infill = InfillEncoder.of(tokenizer);
  const bannedWords = await readBannedWords(folder, tokenizer.eosTokenIds);
  return {
    tokenizer,
    chatTemplate,
    chat,
    pairs,
    infill,
    generationDefaults,
    bannedWords,
    warnings,
  };
}

/** Nothing in messages is ever the mark of an image. */
function chatEncoder(
  template: ChatTemplate,
  tokenizer: TextTokenizer,
  { specialTokensInContent = false, imageMark }: TextSource,
): ChatEncoder {
  if (!specialTokensInContent) return new PlainChatEncoder(template, tokenizer, imageMark);
  if (imageMark === undefined) return new RawChatEncoder(template, tokenizer);
  return new PlainChatEncoder(template, tokenizer, imageMark, []);
}

/** Warnings about a tokenizer with tokens that the model does not have. @throws TokenizerError */
function furtherWarnings(
  folder: string,
  tokenizer: TextTokenizer,
  chat: ChatEncoder | null,
): string[] {
  const ofText = missingIn(() => tokenizer.encode('a', { addSpecialTokens: true }));
  if (ofText !== null) throw new TokenizerError(`${folder}: no text can be tokenized: ${ofText}`);
  const ofChat = missingIn(() =>
    chat?.render([{ role: 'user', content: 'a' }], { addGenerationPrompt: true }).encode(),
  );
  return [
    ...(ofChat === null ? [] : [`chats are refused, because of the chat template: ${ofChat}`]),
    ...(tokenizer.eosTokenIds.length > 0 ? [] : ['no token of the model ends a text']),
  ];
}

/** The message of a token that the model does not have; null without one. */
function missingIn(encode: () => void): string | null {
  try {
    encode();
    return null;
  } catch (error) {
    if (error instanceof MissingTokenError) return error.message;
    // Templates may want other messages.
    if (error instanceof ChatTemplateError) return null;
    throw error;
  }
}

function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
