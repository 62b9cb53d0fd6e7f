import * as fc from 'fast-check';
import { afterAll, beforeAll } from 'vitest';
import { GrammarThread } from '../../src/grammar/grammar-thread.ts';
import { SharedMatch } from '../../src/grammar/shared-match.ts';
import { BYTE_VOCABULARY } from './byte-vocabulary.ts';

const WAIT_MS = 30_000;
/** Most tokens of a draft. */
const MAX_TOKENS = 4;

/** A thread for the tests of a file. */
export function useGrammarThread(): GrammarThread {
  const onEnd = () => {};
  const thread = new GrammarThread({ vocabulary: BYTE_VOCABULARY, timeoutMs: WAIT_MS, onEnd });
  // It keeps no process alive but while it compiles.
  const alive = setInterval(() => {}, 60_000);
  beforeAll(async () => {
    await thread.compile({ form: { kind: 'json_object' } });
  });
  afterAll(() => {
    clearInterval(alive);
    thread.terminate('tested');
  });
  return thread;
}

/** Numbers from 0 to 1, without 1. */
export const draws = fc
  .infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }))
  .map((stream) => () => stream.next().value as number);

/** A text that a grammar's thread follows, token by token. */
export class FollowedText {
  static #lastId = 0;
  readonly tokenIds: number[];
  readonly #thread: GrammarThread;
  readonly #id = ++FollowedText.#lastId;
  readonly #match = SharedMatch.allocate({
    vocabSize: BYTE_VOCABULARY.vocabSize,
    maxDraftTokens: MAX_TOKENS,
  });
  #numDrafts = 1000;

  /** @param tokenIds that the text has already, as after a restart */
  constructor(thread: GrammarThread, ebnf: string, tokenIds: readonly number[] = []) {
    this.#thread = thread;
    this.tokenIds = [...tokenIds];
    const match = this.#match.data;
    thread.post({ type: 'open', id: this.#id, ebnf, tokenIds: Int32Array.from(tokenIds), match });
  }

  /** The tokens that may follow, ascending. */
  allowed(): number[] {
    return this.#allowed(0, this.tokenIds.length);
  }

  accept(tokenId: number): void {
    this.tokenIds.push(tokenId);
    this.#thread.post({ type: 'accept', tokens: [[this.#id, tokenId]], looksAhead: true });
  }

  /** The tokens that may follow all of a draft, which the grammar allows. The text is the same afterwards. */
  allowedAfter(draft: readonly number[]): number[] {
    const number = ++this.#numDrafts;
    const tokenIds = Int32Array.from(draft);
    this.#thread.post({ type: 'draft', id: this.#id, number, tokenIds });
    return this.#allowed(draft.length, number);
  }

  /** Whether the thread goes on with the draft's last token. */
  takesDraft(draft: readonly number[]): boolean {
    const number = ++this.#numDrafts;
    const tokenIds = Int32Array.from(draft);
    this.#thread.post({ type: 'draft', id: this.#id, number, tokenIds });
    // The next question is answered when the draft is done.
    this.allowedAfter(draft.slice(0, 1));
    return this.#match.hasMask(draft.length, number);
  }

  async close(): Promise<void> {
    await this.#thread.close(this.#id);
  }

  #allowed(slot: number, stamp: number): number[] {
    if (!this.#match.waitForMask(slot, stamp, WAIT_MS)) throw new Error('there is no mask');
    const mask = this.#match.mask(slot);
    if (mask === null) throw new Error('the text cannot go on');
    const ids = Array.from({ length: BYTE_VOCABULARY.vocabSize }, (_, id) => id);
    return ids.filter((id) => (((mask[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1);
  }
}
