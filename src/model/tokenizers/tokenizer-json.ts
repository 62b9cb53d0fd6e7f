/** Parts of a tokenizer.json that several forms of tokenizers become. */
import type { PreTokenizer } from './pre-tokenizers.ts';

/** A token that is found in texts before they are cut. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Whether it is left out of answers. */
  readonly special: boolean;
}

/** Tokens of bytes that are written as letters, and the order in which pairs of them merge. */
export interface ByteLevelBpe {
  readonly way: PreTokenizer;
  readonly added: readonly AddedToken[];
  readonly vocab: Readonly<Record<string, number>>;
  /** Two tokens each, in one text with a space between or by themselves. */
  readonly merges: readonly (string | readonly [string, string])[];
}

/** All but what comes around texts. */
export function byteLevelBpe({ way, added, vocab, merges }: ByteLevelBpe) {
  return {
    added_tokens: addedTokens(added),
    normalizer: way.normalizer,
    pre_tokenizer: { type: 'Sequence', pretokenizers: way.steps },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      unk_token: null,
      byte_fallback: false,
      fuse_unk: false,
      ignore_merges: way.ignoreMerges,
      vocab,
      merges,
    },
  };
}

/** @param takesSpacesAfter of which tokens spaces after them are a part; of none if left out */
export function addedTokens(
  added: readonly AddedToken[],
  takesSpacesAfter: (token: string) => boolean = () => false,
) {
  return added.map(({ id, content, special }) => ({
    id,
    content,
    special,
    single_word: false,
    lstrip: false,
    rstrip: takesSpacesAfter(content),
    normalized: false,
  }));
}

type Marker = Omit<AddedToken, 'special'>;

/** What comes before and after each text; null for nothing. */
export function around(first: Marker | null, last: Marker | null) {
  const marker = (token: Marker | null) =>
    token === null ? [] : [{ SpecialToken: { id: token.content, type_id: 0 } }];
  const sequence = (id: string) => ({ Sequence: { id, type_id: 0 } });
  const special = [first, last].flatMap((token) =>
    token === null
      ? []
      : [[token.content, { id: token.content, ids: [token.id], tokens: [token.content] }]],
  );
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    post_processor:
      special.length === 0
        ? null
        : {
            type: 'TemplateProcessing',
            single: [...marker(first), sequence('A'), ...marker(last)],
            pair: [...marker(first), sequence('A'), sequence('B'), ...marker(last)],
            special_tokens: Object.fromEntries(special),
          },
  };
}
