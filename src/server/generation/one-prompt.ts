import type { Caller } from '../../front/caller.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import { badRequest } from '../errors.ts';
import type { ServedText } from '../runtimes.ts';
import { parsePrompts } from '../schemas/prompt.ts';
import { requireInVocabulary } from './parameters.ts';

/**
 * Token ids of a `prompt` field that has one text, or the token ids of one.
 * @param hint appended to the error for several prompts
 * @throws ApiError 400; as PromptEncoder
 */
export async function encodeOnePrompt(
  { prompts, model }: Pick<ServedText, 'prompts' | 'model'>,
  value: unknown,
  caller: Caller,
  hint = '',
): Promise<Int32Array> {
  const [prompt, another] = parsePrompts(value, 2);
  if (prompt === undefined || another !== undefined) {
    const message = `\`prompt\`: expected one text, or the tokens of one${hint}.`;
    throw badRequest(message, 'prompt', 'invalid_value');
  }
  if ('tokenIds' in prompt) {
    requireInVocabulary(prompt.tokenIds, prompt.param, model.vocabSize);
    return Int32Array.from(prompt.tokenIds);
  }
  const options = { maxTokens: model.maxModelLen, field: 'prompt' };
  const [tokenIds] = await encodeTexts({ prompts }, [prompt.text], options, caller);
  return tokenIds ?? new Int32Array();
}
