import type { TokenDelta } from '../../front/generation/generation.ts';
import type { ResumedChoice } from '../../front/generation/resumption.ts';
import { formatEventId } from './event-id.ts';

/** How far an answer has come, so that it can be taken up elsewhere. */
export class AnswerProgress {
  readonly #tokenIds: number[][];
  /** By choice: tokens of `#tokenIds` that an event's id has told. */
  readonly #numTold: number[];
  #isSeen = false;

  constructor(numChoices: number) {
    this.#tokenIds = Array.from({ length: numChoices }, () => []);
    this.#numTold = this.#tokenIds.map(() => 0);
  }

  record({ choice = 0, tokenIds, isSeen = false }: TokenDelta): void {
    this.#isSeen = isSeen;
    for (const tokenId of tokenIds) this.#tokenIds[choice]?.push(tokenId);
    if (isSeen) this.#numTold[choice] = this.#tokenIds[choice]?.length ?? 0;
  }

  /** Of what was generated since the last call; null where the reader has it already. */
  takeEventId(): string | null {
    if (this.#isSeen) {
      // What follows the last token has none of its own, and may not have arrived.
      this.#isSeen = false;
      return null;
    }
    const added = this.#tokenIds.flatMap((tokenIds, choice) => {
      const since = tokenIds.slice(this.#numTold[choice]);
      this.#numTold[choice] = tokenIds.length;
      return since.length === 0 ? [] : [{ choice, tokenIds: since }];
    });
    return formatEventId(this.#numTold, added);
  }

  /** Where the choices stand, as events' ids have told it. */
  told(): ResumedChoice[] {
    return this.#tokenIds.map((tokenIds, choice) => {
      const numSeen = this.#numTold[choice] ?? 0;
      return { outputTokenIds: Int32Array.from(tokenIds.slice(0, numSeen)), numSeen };
    });
  }

  /** Where they stand for a reader who has seen nothing. */
  unseen(): ResumedChoice[] {
    return this.#tokenIds.map((tokenIds) => ({
      outputTokenIds: Int32Array.from(tokenIds),
      numSeen: 0,
    }));
  }
}
