import { MODEL_LIMITS } from '../../../model-limits.ts';
import { ModelError } from '../../model-error.ts';
import type { Vocabulary } from '../../tokenizer/vocabulary.ts';
import type { GgufMetadata } from '../metadata.ts';
import { isKnownEnd } from './end-tokens.ts';
import { BYTE, CONTROL, UNKNOWN, USER_DEFINED } from '../../tokenizer/token-kinds.ts';

/** @throws {ModelError} if there is none, or two tokens are the same */
export function readVocabulary(metadata: GgufMetadata, path: string): Vocabulary {
  const key = (name: string) => `tokenizer.ggml.${name}`;
  const stored = metadata.require(key('tokens'), metadata.strings(key('tokens')));
  if (stored.length > MODEL_LIMITS.vocabSize) {
    throw new ModelError(
      `${path} has ${stored.length} tokens, and the limit is ${MODEL_LIMITS.vocabSize}`,
    );
  }
  // As llama.cpp calls what has no text.
  const tokens = stored.map((token, id) => (token === '' ? `[EMPTY_${id}]` : token));
  const types = metadata.numbers(key('token_type'));
  const ids = new Map(tokens.map((token, id) => [token, id]));
  if (ids.size < tokens.length) {
    const twice = tokens.find((token, id) => ids.get(token) !== id);
    throw new ModelError(`${path} has the token ${JSON.stringify(twice)} twice`);
  }
  const ofRole = (role: string) => {
    const id = metadata.number(key(`${role}_token_id`));
    return id === undefined ? null : (tokens[id] ?? null);
  };
  const firstUnknown = types?.indexOf(UNKNOWN) ?? -1;
  const typeOf = (id: number) => types?.[id];
  return {
    tokens,
    ids,
    unknown: ofRole('unknown') ?? tokens[firstUnknown] ?? null,
    bos: ofRole('bos'),
    eos: ofRole('eos'),
    addsBos: metadata.boolean(key('add_bos_token')) ?? null,
    addsEos: metadata.boolean(key('add_eos_token')) ?? null,
    added: tokens.flatMap((content, id) => {
      const type = typeOf(id);
      // Some files call an end of answers a word, and no template could write it.
      const isSpecial = type === CONTROL || type === UNKNOWN || isKnownEnd(content);
      return isSpecial || type === USER_DEFINED ? [{ id, content, special: isSpecial }] : [];
    }),
    isText: (id) => ![UNKNOWN, CONTROL, USER_DEFINED, BYTE].includes(typeOf(id) ?? 0),
  };
}
