import { ChatTemplate } from './chat-template.ts';
import { type GenerationDefaults, readGenerationDefaults } from './generation-config.ts';
import { placeholderTokenizer } from './placeholder-tokenizer.ts';
import { TextTokenizer } from './tokenizer.ts';

/** Where the text side of a model is; a plain value that crosses threads. */
export interface TextSource {
  /** Where tokenizer and chat template are; null for a bare shape, which has neither. */
  readonly folder: string | null;
  readonly vocabSize: number;
}

/** The text side of a model. */
export interface TextModel {
  readonly tokenizer: TextTokenizer;
  /** Null when the model has none: it can complete, but not chat. */
  readonly chatTemplate: ChatTemplate | null;
  readonly generationDefaults: GenerationDefaults;
}

/** @throws TokenizerError naming the file that is missing or damaged */
export async function loadTextModel({ folder, vocabSize }: TextSource): Promise<TextModel> {
  if (folder === null) {
    const tokenizer = placeholderTokenizer(vocabSize);
    return { tokenizer, chatTemplate: null, generationDefaults: {} };
  }
  const [tokenizer, chatTemplate, generationDefaults] = await Promise.all([
    TextTokenizer.load(folder),
    ChatTemplate.load(folder),
    readGenerationDefaults(folder),
  ]);
  return { tokenizer, chatTemplate, generationDefaults };
}
