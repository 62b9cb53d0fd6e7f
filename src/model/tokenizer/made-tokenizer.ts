import { told } from '../../told.ts';
import { ModelError } from '../model-error.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import type { TextSettings } from './text-settings.ts';
import type { AddedToken } from './vocabulary.ts';

/** A tokenizer in the form of tokenizer.json. */
export interface MadeTokenizer {
  /** The content of tokenizer.json. */
  readonly json: unknown;
  /** Fields for tokenizer_config.json, where it lacks them. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** A tokenizer's form or kind that is not known here; what is thrown says why. */
export class UnknownForm extends ModelError {}

/** @throws {ModelError} if there are too many tokens, or so long ones that they would keep the server busy */
export function requireBounded(tokens: readonly { readonly length: number }[], path: string): void {
  if (tokens.length > MODEL_LIMITS.vocabSize) {
    throw new ModelError(
      `${path} has ${tokens.length} tokens, and the limit is ${MODEL_LIMITS.vocabSize}`,
    );
  }
  let work = 0;
  for (const { length } of tokens) work += length ** 2;
  if (work > MODEL_LIMITS.mergeWork) throw new ModelError(`${path} has tokens that are too long`);
}

/** @throws {ModelError} if a text or an id is there twice, or an id is out of all bounds */
export function requireDistinct(added: readonly AddedToken[], path: string): void {
  const seen = new Set<number | string>();
  for (const { id, content } of added) {
    const twice = [id, content].find((each) => seen.has(each));
    if (twice !== undefined || id >= MODEL_LIMITS.vocabSize || content === '') {
      const what = twice === undefined ? 'is not possible' : 'is there twice';
      throw new ModelError(
        `${path}: the added token ${id}, ${JSON.stringify(told(content, 40))}, ${what}`,
      );
    }
    seen.add(id).add(content);
  }
}

/** Added tokens of the settings, and those with roles that are words of the vocabulary, by id. */
export function allAdded(
  own: readonly AddedToken[],
  settings: TextSettings,
  ids: ReadonlyMap<string, number>,
): AddedToken[] {
  const byId = new Map(own.map((token) => [token.id, token]));
  for (const token of settings.added) byId.set(token.id, token);
  const texts = new Set(Array.from(byId.values(), ({ content }) => content));
  for (const content of settings.special) {
    const id = ids.get(content);
    if (id !== undefined && !texts.has(content)) byId.set(id, { id, content, special: true });
  }
  return [...byId.values()].toSorted((a, b) => a.id - b.id);
}
