/** tokenizer.json of `tiktoken.model`: a token's bytes and its rank in each line. */
import { ModelError } from '../model-error.ts';
import { bytesOf, idsByRank, lettersOf, mergesByRank } from './byte-ranks.ts';
import { type MadeTokenizer, requireDistinct, UnknownForm } from './made-tokenizer.ts';
import { KIMI_K2 } from './pre-tokenizers.ts';
import type { TextSettings } from './text-settings.ts';
import { byteLevelBpe } from './tokenizer-json.ts';

/** How texts are cut is in code of the models' own: that of Moonshot's is known. */
const KNOWN = /^tokenization_(kimi|moonshot)\.TikTokenTokenizer$/;
/** Ids after the words that are special, whether they have names or not. */
const NUM_SPECIAL = 256;

/** @throws {ModelError} if the file is damaged, or how it cuts texts is not known */
export function fromTiktoken(text: string, settings: TextSettings, path: string): MadeTokenizer {
  if (settings.ownClass === null || !KNOWN.test(settings.ownClass)) {
    throw new UnknownForm('how it cuts texts into words is in code of its own');
  }
  const lines = text.split('\n').filter((line) => line !== '');
  const tokens = lines.map((line, index) => {
    const [base64 = '', rank] = line.trimEnd().split(' ');
    if (rank !== String(index)) {
      throw new ModelError(`${path}: its tokens are not in the order of their ranks`);
    }
    return lettersOf(bytesOf(base64, path));
  });
  const ids = idsByRank(tokens, 0, path);
  const merges = mergesByRank(tokens, ids);
  const names = new Map(settings.added.map((token) => [token.id, token]));
  const added = Array.from({ length: NUM_SPECIAL }, (_, index) => {
    const id = tokens.length + index;
    // All of them are special in the models' own code, whatever is said about them.
    const content = names.get(id)?.content ?? `<|reserved_token_${id}|>`;
    return { id, content, special: true };
  });
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
  return { json: byteLevelBpe(vocabulary, merges, { ...KIMI_K2, ignoreMerges: true }), config: {} };
}
