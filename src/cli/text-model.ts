import { ChatTemplate } from '../front/chat-template.ts';
import { type GenerationDefaults, readGenerationDefaults } from '../front/generation-config.ts';
import { placeholderTokenizer } from '../front/placeholder-tokenizer.ts';
import { TextTokenizer } from '../front/tokenizer.ts';
import type { ChosenModel } from './model-source.ts';

/** The text side of a model. */
export interface TextModel {
  readonly tokenizer: TextTokenizer;
  /** Null when the model has none: it can complete, but not chat. */
  readonly chatTemplate: ChatTemplate | null;
  readonly generationDefaults: GenerationDefaults;
}

/** @throws TokenizerError naming the file that is missing or damaged */
export async function loadTextModel({ textFolder, config }: ChosenModel): Promise<TextModel> {
  if (textFolder === null) {
    const tokenizer = placeholderTokenizer(config.vocabSize);
    return { tokenizer, chatTemplate: null, generationDefaults: {} };
  }
  const [tokenizer, chatTemplate, generationDefaults] = await Promise.all([
    TextTokenizer.load(textFolder),
    ChatTemplate.load(textFolder),
    readGenerationDefaults(textFolder),
  ]);
  return { tokenizer, chatTemplate, generationDefaults };
}
