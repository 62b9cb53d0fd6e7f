import { TokenizerError } from './tokenizer-files.ts';

/** Kinds of models in tokenizer.json. */
const TYPES = ['BPE', 'Unigram', 'WordLevel', 'WordPiece'];

/** The model of a tokenizer.json with its type, which old files leave out. @throws TokenizerError */
export function typedModel(model: Readonly<Record<string, unknown>>) {
  const type = model['type'] ?? usualType(model);
  if (typeof type === 'string' && TYPES.includes(type)) return { ...model, type };
  throw new TokenizerError(
    `model.type ${JSON.stringify(type)} is not supported (supported: ${TYPES.join(', ')})`,
  );
}

function usualType(model: Readonly<Record<string, unknown>>): string {
  if (Array.isArray(model['vocab'])) return 'Unigram';
  if ('merges' in model) return 'BPE';
  return 'continuing_subword_prefix' in model ? 'WordPiece' : 'WordLevel';
}
