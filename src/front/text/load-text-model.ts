import { type ChatEncoder, PlainChatEncoder, RawChatEncoder } from '../chat/chat-encoder.ts';
import { ChatTemplate } from '../chat/chat-template.ts';
import { pairTemplate } from '../chat/pair-template.ts';
import { type GenerationDefaults, readGenerationDefaults } from './generation-config.ts';
import { placeholderTokenizer } from './placeholder-tokenizer.ts';
import { TextTokenizer } from './tokenizer.ts';

/** Where the text side of a model is; a plain value that crosses threads. */
export interface TextSource {
  /** Where tokenizer and chat template are; null for a bare shape, which has neither. */
  readonly folder: string | null;
  readonly vocabSize: number;
  /** Whether special tokens' texts in messages become those tokens; false if left out. */
  readonly specialTokensInContent?: boolean;
}

/** The text side of a model. */
export interface TextModel {
  readonly tokenizer: TextTokenizer;
  /** Null when the model has none: it can complete, but not chat. */
  readonly chatTemplate: ChatTemplate | null;
  /** Null without a chat template. */
  readonly chat: ChatEncoder | null;
  /** Of a query and a document; see `pairMessages`. Made when it is first asked for. */
  readonly pairs: () => ChatEncoder;
  readonly generationDefaults: GenerationDefaults;
}

/** @throws TokenizerError naming the file that is missing or damaged */
export async function loadTextModel(source: TextSource): Promise<TextModel> {
  const { folder, vocabSize, specialTokensInContent = false } = source;
  if (folder === null) {
    const tokenizer = placeholderTokenizer(vocabSize);
    const pairs = lazily(() => new RawChatEncoder(pairTemplate(null), tokenizer));
    return { tokenizer, chatTemplate: null, chat: null, pairs, generationDefaults: {} };
  }
  const [tokenizer, chatTemplate, generationDefaults] = await Promise.all([
    TextTokenizer.load(folder),
    ChatTemplate.load(folder),
    readGenerationDefaults(folder),
  ]);
  const Encoder = specialTokensInContent ? RawChatEncoder : PlainChatEncoder;
  const chat = chatTemplate === null ? null : new Encoder(chatTemplate, tokenizer);
  const pairs = lazily(() => new Encoder(pairTemplate(chatTemplate), tokenizer));
  return { tokenizer, chatTemplate, chat, pairs, generationDefaults };
}

function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
