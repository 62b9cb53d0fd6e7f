/** tokenizer.json of `tiktoken.model` or `hy.tiktoken`: a token's bytes and its rank in each line. */
import { ModelError } from '../model-error.ts';
import { bytesOf, idsByRank, lettersOf, mergesByRank } from './byte-ranks.ts';
import { type MadeTokenizer, requireDistinct, UnknownForm } from './made-tokenizer.ts';
import { KIMI_K2, type PreTokenizer, QWEN2 } from './pre-tokenizers.ts';
import type { TextSettings } from './text-settings.ts';
import { byteLevelBpe } from './tokenizer-json.ts';
import type { AddedToken } from './vocabulary.ts';

/** Code of a model's own: how it cuts texts, and which tokens it adds. */
interface OwnCode {
  /** Class in its `auto_map`. */
  readonly name: RegExp;
  readonly words: PreTokenizer;
  /** Whether ranks are counted, without tokens that were there before, whatever the file says. */
  readonly countsRanks: boolean;
  /** Texts of tokens that come after the words, by id from `first`. All are special, whatever is said about them. */
  readonly special: (first: number, settings: TextSettings) => readonly string[];
}

/** Ids after the words that are special, whether they have names or not. */
const NUM_SPECIAL = 256;

const MOONSHOT: OwnCode = {
  name: /^tokenization_(kimi|moonshot)\.TikTokenTokenizer$/,
  words: KIMI_K2,
  countsRanks: false,
  special: (first, { added }) => {
    const names = new Map(added.map(({ id, content }) => [id, content]));
    return Array.from({ length: NUM_SPECIAL }, (_, index) => {
      const id = first + index;
      return names.get(id) ?? `<|reserved_token_${id}|>`;
    });
  },
};

const HUNYUAN_NAMES = ['endoftext', 'startoftext', 'bos', 'eos', 'pad'];
const NUM_EXTRA = 205;

const HUNYUAN: OwnCode = {
  name: /^tokenization_hy\.HYTokenizer$/,
  words: QWEN2,
  countsRanks: true,
  special: () => [
    ...HUNYUAN_NAMES.map((name) => `<|${name}|>`),
    ...Array.from({ length: NUM_EXTRA }, (_, index) => `<|extra_${index}|>`),
  ],
};

/** @throws {ModelError} if the file is damaged, or how it cuts texts is not known */
export function fromTiktoken(text: string, settings: TextSettings, path: string): MadeTokenizer {
  const code = [MOONSHOT, HUNYUAN].find(({ name }) => name.test(settings.ownClass ?? ''));
  if (code === undefined) {
    throw new UnknownForm('how it cuts texts into words is in code of its own');
  }
  const lines = text.split('\n').filter((line) => line !== '');
  const listed = lines.map((line, index) => {
    const [base64 = '', rank] = line.trimEnd().split(' ');
    if (!code.countsRanks && rank !== String(index)) {
      throw new ModelError(`${path}: its tokens are not in the order of their ranks`);
    }
    return lettersOf(bytesOf(base64, path));
  });
  const tokens = code.countsRanks ? [...new Set(listed)] : listed;
  const ids = idsByRank(tokens, 0, path);
  const merges = mergesByRank(tokens, ids);
  const added: AddedToken[] = code
    .special(tokens.length, settings)
    .map((content, index) => ({ id: tokens.length + index, content, special: true }));
  requireDistinct(added, path);
  for (const { content, id } of added) ids.set(content, id);
  const { bos_token: bos = null, eos_token: eos = null } = settings.roles;
  const vocabulary = {
    tokens,
    ids,
    unknown: null,
    bos,
    eos,
    addsBos: false,
    addsEos: false,
    added,
    isText: () => true,
  };
  const words = { ...code.words, ignoreMerges: true };
  return { json: byteLevelBpe(vocabulary, merges, words), config: {} };
}
