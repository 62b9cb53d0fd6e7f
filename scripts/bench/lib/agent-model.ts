import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';

const SUMMIT = fileURLToPath(new URL('../../../models/summit', import.meta.url));
const NUM_WORDS = 100;

/** A word that is a token: answers of such words have the same tokens when they come back. */
export interface Word {
  readonly text: string;
  readonly id: number;
}

/**
 * A folder with the shape of SmolLM2-135M, for random weights, and the embedded model's tokenizer.
 * @param edit changes the embedded model's chat template
 */
export async function writeAgentModel(
  folder: string,
  contextTokens: number,
  edit: (template: string) => string = (template) => template,
): Promise<Word[]> {
  await mkdir(folder);
  const config = { ...PRESETS['smollm2-135m'], max_position_embeddings: contextTokens };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config));
  await copyFile(join(SUMMIT, 'tokenizer.json'), join(folder, 'tokenizer.json'));
  const own: { chat_template: string } = JSON.parse(
    await readFile(join(SUMMIT, 'tokenizer_config.json'), 'utf8'),
  );
  const edited = { ...own, chat_template: edit(own.chat_template) };
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(edited));
  const { model }: { model: { vocab: Record<string, number> } } = JSON.parse(
    await readFile(join(SUMMIT, 'tokenizer.json'), 'utf8'),
  );
  const words = Object.entries(model.vocab).filter(([token]) => /^Ġ[a-z]{3,}$/.test(token));
  return words.slice(0, NUM_WORDS).map(([token, id]) => ({ text: token.replace('Ġ', ' '), id }));
}

/** A text of `length` tokens, another one for each `from`. */
export function textOf(words: readonly Pick<Word, 'text'>[], length: number, from: number): string {
  const texts = Array.from(
    { length },
    (_, index) => words[(from + index * 7) % words.length]?.text,
  );
  return texts.join('');
}
