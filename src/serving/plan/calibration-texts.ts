import { readEvalFile } from '../../eval/eval-file.ts';
import { loadTextModel, type TextSource } from '../../front/prompts/load-text-model.ts';
import { UserError } from '../../user-error.ts';
import { UsageError } from '../../settings/usage-error.ts';

/**
 * The texts of a file as a model's tokens: a text, or those of JSON lines of `{"text"}`.
 * @param flag by which the file was named
 * @throws UserError for a file without texts, or a bare shape
 */
export async function readTokens(
  text: TextSource,
  flag: string,
  path: string,
): Promise<Int32Array[]> {
  const { texts } = await readEvalFile(path, flag);
  if (text.folder === null)
    throw new UsageError(`${flag} ${path}: a model without a tokenizer cannot read texts`);
  const { tokenizer } = await loadTextModel(text);
  const encoded = texts.map((each) => tokenizer.encode(each, { addSpecialTokens: true }));
  const usable = encoded.filter((tokenIds) => tokenIds.length > 1);
  if (usable.length === 0) throw new UserError(`${flag} ${path}: it has no texts`);
  return usable;
}
