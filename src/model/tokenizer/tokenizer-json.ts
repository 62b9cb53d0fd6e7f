/** Parts of tokenizer.json. */
import type { PreTokenizer } from './pre-tokenizers.ts';
import type { AddedToken, Vocabulary } from './vocabulary.ts';

/** Parts that are the same for all kinds of models: those around a text, and nothing that is cut or filled up. */
export function commonParts({
  ids,
  bos,
  eos,
  addsBos,
  addsEos,
}: Pick<Vocabulary, 'ids' | 'bos' | 'eos' | 'addsBos' | 'addsEos'>) {
  const first = addsBos === true ? bos : null;
  const last = addsEos === true ? eos : null;
  const around = [first, last].filter((token) => token !== null);
  const marker = (token: string | null) =>
    token === null ? [] : [{ SpecialToken: { id: token, type_id: 0 } }];
  const sequence = (id: string) => ({ Sequence: { id, type_id: 0 } });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    post_processor:
      around.length === 0
        ? null
        : {
            type: 'TemplateProcessing',
            single: [...marker(first), sequence('A'), ...marker(last)],
            pair: [...marker(first), sequence('A'), sequence('B'), ...marker(last)],
            special_tokens: specialTokens(around, ids),
          },
  };
}

/** Tokens of a template, as tokenizer.json lists them. */
export function specialTokens(tokens: readonly string[], ids: ReadonlyMap<string, number>) {
  return Object.fromEntries(
    tokens.map((token) => [token, { id: token, ids: [ids.get(token)], tokens: [token] }]),
  );
}

export function addedTokens(added: readonly AddedToken[]) {
  return added.map(({ id, content, special, ...how }) => ({
    id,
    content,
    special,
    single_word: how.single_word ?? false,
    lstrip: how.lstrip ?? false,
    rstrip: how.rstrip ?? false,
    normalized: how.normalized ?? false,
  }));
}

/** BPE on bytes that are written as letters. */
export function byteLevelBpe(
  vocabulary: Vocabulary,
  merges: readonly (string | readonly [string, string])[],
  { steps, normalizer, ignoreMerges }: Omit<PreTokenizer, 'addsBos'>,
) {
  return {
    ...commonParts(vocabulary),
    added_tokens: addedTokens(vocabulary.added),
    normalizer,
    pre_tokenizer: { type: 'Sequence', pretokenizers: steps },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      unk_token: null,
      byte_fallback: false,
      fuse_unk: false,
      ignore_merges: ignoreMerges,
      vocab: Object.fromEntries(vocabulary.ids),
      merges,
    },
  };
}

/** BPE on characters, with bytes for what is no token. */
export function fallbackBpe(
  { unknown, ids }: Pick<Vocabulary, 'unknown' | 'ids'>,
  merges: readonly (string | readonly [string, string])[],
) {
  return {
    type: 'BPE',
    unk_token: unknown,
    byte_fallback: true,
    fuse_unk: true,
    ignore_merges: false,
    vocab: Object.fromEntries(ids),
    merges,
  };
}
