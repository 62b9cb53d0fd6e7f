import { readEvalFile } from '../eval/eval-file.ts';
import { loadTextModel, type TextSource } from '../front/text/load-text-model.ts';
import { UsageError } from './usage-error.ts';

/**
 * The texts of a file as a model's tokens: a text, or those of JSON lines of `{"text"}`.
 * @throws UsageError for a file without texts, or a bare shape
 */
export async function readTokens(text: TextSource, path: string): Promise<Int32Array[]> {
  const { texts } = await readEvalFile(path);
  if (text.folder === null) throw new UsageError(`a bare shape reads no texts: not ${path}`);
  const { tokenizer } = await loadTextModel(text);
  const encoded = texts.map((each) => tokenizer.encode(each, { addSpecialTokens: true }));
  const usable = encoded.filter((tokenIds) => tokenIds.length > 1);
  if (usable.length === 0) throw new UsageError(`${path} has no texts`);
  return usable;
}
