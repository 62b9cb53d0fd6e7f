import type { GrammarMatcher } from '@mlc-ai/web-xgrammar';
import type { Counts } from './counted-text.ts';
import type { CountedTokens } from './counted-tokens.ts';
import type { TextTokens } from './text-tokens.ts';
import { CountedWalk, type Position } from './counted-walk.ts';

/** Part of a matcher that is used. */
export type TokenMatcher = Pick<
  GrammarMatcher,
  'acceptToken' | 'rollBack' | 'getNextTokenBitmask' | 'isTerminated' | 'dispose'
>;

/** Tokens that can be taken back: more than a draft has. */
const MAX_ROLLBACK = 1024;

/** A matcher of a grammar that leaves the bounds of strings out, with which they are kept. */
export class CountedMatcher implements TokenMatcher {
  readonly #matcher: TokenMatcher;
  readonly #tokens: CountedTokens;
  readonly #walk: CountedWalk;
  /** Tokens that may reach from between strings into one. */
  readonly #entering: Int32Array;
  readonly #textTokens: TextTokens | null;
  /** After each of the last tokens; the last is where the text is. */
  #positions: Position[];
  readonly #probe: Position;

  constructor(matcher: TokenMatcher, tokens: CountedTokens, counts: Counts) {
    this.#matcher = matcher;
    this.#tokens = tokens;
    this.#walk = new CountedWalk(counts);
    this.#entering = tokens.withAny(this.#walk.entering);
    const { textEnd } = this.#walk;
    this.#textTokens = textEnd && tokens.before(textEnd.text);
    this.#positions = [this.#walk.start()];
    this.#probe = this.#walk.start();
  }

  acceptToken(tokenId: number): boolean {
    const next = this.#walk.start().copyFrom(this.#position);
    if (!this.#walk.advance(next, this.#tokens.bytesOf(tokenId))) return false;
    if (!this.#matcher.acceptToken(tokenId)) return false;
    this.#positions.push(next);
    if (this.#positions.length > 2 * MAX_ROLLBACK) {
      this.#positions = this.#positions.slice(-MAX_ROLLBACK);
    }
    return true;
  }

  rollBack(numTokens: number): void {
    if (numTokens >= this.#positions.length) throw new RangeError('too many tokens are taken back');
    this.#matcher.rollBack(numTokens);
    this.#positions.length -= numTokens;
  }

  async getNextTokenBitmask(): Promise<Int32Array> {
    const mask = await this.#matcher.getNextTokenBitmask();
    this.#keepBounds(mask);
    return mask;
  }

  isTerminated(): boolean {
    return this.#matcher.isTerminated();
  }

  dispose(): void {
    this.#matcher.dispose();
  }

  get #position(): Position {
    return this.#positions.at(-1) ?? this.#walk.start();
  }

  /** Takes the tokens out that would break a bound. */
  #keepBounds(mask: Int32Array): void {
    const position = this.#position;
    const { left, escape, within } = position;
    if (this.#textTokens !== null && this.#walk.isInTextValue(position)) {
      this.#keepTextBounds(mask, this.#textTokens);
      return;
    }
    keep(mask, this.#tokens.within(left, escape));
    if (!this.#walk.mayReachJson(position, this.#tokens.longest)) return;
    this.#tryAll(mask, within === 'structure' ? this.#entering : this.#tokens.withQuote);
  }

  #keepTextBounds(mask: Int32Array, tokens: TextTokens): void {
    const position = this.#position;
    const room = position.max - position.numCharacters;
    keep(mask, tokens.within(room));
    if (this.#walk.textEnd?.isTooShort(position) === true) {
      this.#tryAll(mask, tokens.crossing);
    } else this.#tryAll(mask, room < this.#tokens.longest ? tokens.near : tokens.ending);
  }

  #tryAll(mask: Int32Array, ids: Int32Array): void {
    for (const id of ids) this.#try(mask, id);
  }

  #try(mask: Int32Array, id: number): void {
    const word = mask[id >>> 5] ?? 0;
    const bit = 1 << (id & 31);
    if ((word & bit) === 0) return;
    const probe = this.#probe.copyFrom(this.#position);
    if (!this.#walk.advance(probe, this.#tokens.bytesOf(id))) mask[id >>> 5] = word & ~bit;
  }
}

function keep(mask: Int32Array, within: Int32Array | null): void {
  if (within === null) return;
  for (let index = 0; index < mask.length; index++) {
    mask[index] = (mask[index] ?? 0) & (within[index] ?? 0);
  }
}
