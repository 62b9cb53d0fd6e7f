import { told } from '../../told.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import type { PreTokenizer } from './pre-tokenizers.ts';
import { type AddedToken, around, byteLevelBpe } from './tokenizer-json.ts';

/** Tokens as tiktoken has them: bytes, each with a rank. Of two pairs, the one whose whole has the lower rank merges. */
export interface RankedTokens {
  /** Bytes by rank. */
  readonly ranked: readonly Buffer[];
  /** Id of the token of rank 0. */
  readonly firstId: number;
  /** Tokens that are no bytes of a text. */
  readonly special: readonly Omit<AddedToken, 'special'>[];
  /** Comes first in each text; null for none. */
  readonly begin: string | null;
  readonly way: PreTokenizer;
}

/**
 * The content of tokenizer.json that cuts texts as tiktoken does: as Transformers' converter makes it, each way to
 * cut a token into two others is a merge, in the order of ranks.
 * @throws {ModelError} naming what is twice, or missing
 */
export function rankedBpe(
  { ranked, firstId, special, begin, way }: RankedTokens,
  path: string,
): unknown {
  const most = MODEL_LIMITS.vocabSize;
  if (ranked.length + special.length > most) {
    throw new ModelError(`${path} has ${ranked.length} tokens, and the limit is ${most}`);
  }
  const cost = ranked.reduce((sum, { length }) => sum + length ** 2, 0);
  if (cost > MODEL_LIMITS.mergeSteps) {
    throw new ModelError(`${path} has tokens that are too long to look for their merges`);
  }
  const tokens = ranked.map(lettersOf);
  const ranks = new Map(tokens.map((token, rank) => [token, rank]));
  if (ranks.size < tokens.length) {
    const twice = tokens.find((token, rank) => ranks.get(token) !== rank) ?? '';
    throw new ModelError(`${path} has the token "${told(twice, 100)}" twice`);
  }
  const missing = LETTERS.findIndex((letter) => !ranks.has(letter));
  if (missing >= 0) throw new ModelError(`${path} has no token for the byte ${missing}`);
  const marker = special.find(({ content }) => content === begin);
  return {
    ...around(marker ?? null, null),
    ...byteLevelBpe({
      // A word that is a token stays whole, as all cuts of it lead there.
      way: { ...way, ignoreMerges: true },
      added: special.map((token) => ({ ...token, special: true })),
      vocab: Object.fromEntries(tokens.map((token, rank) => [token, firstId + rank])),
      merges: tokens.flatMap((token) => cutsOf(token, ranks)),
    }),
  };
}

/** Pairs of tokens that make one, the lowest ranks first. */
function cutsOf(token: string, ranks: ReadonlyMap<string, number>): [string, string][] {
  const cuts: { pair: [string, string]; first: number; second: number }[] = [];
  for (let at = 1; at < token.length; at++) {
    const pair: [string, string] = [token.slice(0, at), token.slice(at)];
    const [first, second] = [ranks.get(pair[0]), ranks.get(pair[1])];
    if (first !== undefined && second !== undefined) cuts.push({ pair, first, second });
  }
  return cuts.toSorted((a, b) => a.first - b.first || a.second - b.second).map(({ pair }) => pair);
}

/** A letter for each byte, as GPT-2 has them: printable ones stand for themselves. */
const LETTERS: readonly string[] = (() => {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte !== 0xad);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(isPrintable(byte) ? byte : next++),
  );
})();

function lettersOf(bytes: Buffer): string {
  let text = '';
  for (const byte of bytes) text += LETTERS[byte] ?? '';
  return text;
}
