import type { TokenDelta } from '../../front/generation/generation.ts';
import type { ResumedChoice } from '../../front/generation/resumption.ts';
import { formatEventId } from './event-id.ts';

/** State of an answer: the tokens that its reader has, and others that are known. */
export interface Standing {
  /** Whether its reader has anything, be it no more than what comes before the first token. */
  readonly hasBegun: boolean;
  readonly choices: readonly ResumedChoice[];
  /** Numbered events that the reader has; 0 for an API that does not number them. */
  readonly numEvents: number;
}

/** How far an answer has come, so that it can be taken up elsewhere. */
export class AnswerProgress {
  /** Where it began here. */
  readonly #from: Standing;
  readonly #tokenIds: number[][];
  /** By choice: tokens that its reader has. */
  readonly #numTold: number[];
  /** Whether its reader has all that was recorded since the last id. */
  #isSeen: boolean;
  #hasBegun: boolean;
  #numEvents: number;
  #numToldEvents: number;

  constructor(from: Standing) {
    this.#from = from;
    this.#tokenIds = from.choices.map(() => []);
    this.#numTold = from.choices.map(({ numSeen }) => numSeen);
    this.#isSeen = from.hasBegun;
    this.#hasBegun = from.hasBegun;
    this.#numEvents = from.numEvents;
    this.#numToldEvents = from.numEvents;
  }

  record({ choice = 0, tokenIds, isSeen = false }: TokenDelta): void {
    this.#isSeen = isSeen;
    for (const tokenId of tokenIds) this.#tokenIds[choice]?.push(tokenId);
  }

  nextEventNumber(): number {
    return this.#isSeen ? this.#numEvents : this.#numEvents++;
  }

  /**
   * Id of the event with all that was generated since the last call; null if the reader has it already.
   */
  takeEventId(): string | null {
    if (this.#isSeen) {
      // An event after the last token has no id of its own, and may not have arrived.
      this.#isSeen = false;
      return null;
    }
    const added = this.#tokenIds.flatMap((tokenIds, choice) => {
      const since = tokenIds.slice(this.#numTold[choice]);
      this.#numTold[choice] = Math.max(tokenIds.length, this.#numTold[choice] ?? 0);
      return since.length === 0 ? [] : [{ choice, tokenIds: since }];
    });
    this.#hasBegun = true;
    this.#numToldEvents = this.#numEvents;
    return formatEventId({ counts: this.#numTold, numEvents: this.#numToldEvents }, added);
  }

  /** State that the ids of sent events give. */
  told(): Standing {
    const choices = this.#tokenIds.map((tokenIds, choice): ResumedChoice => {
      const numSeen = this.#numTold[choice] ?? 0;
      const told = tokenIds.slice(0, numSeen);
      const before = this.#from.choices[choice]?.outputTokenIds ?? [];
      // Not all tokens known from the beginning may have been recorded again.
      return {
        outputTokenIds: Int32Array.from(told.length < before.length ? before : told),
        numSeen,
      };
    });
    return { hasBegun: this.#hasBegun, choices, numEvents: this.#numToldEvents };
  }

  /** Where it stands for a reader who has nothing. */
  unseen(): Standing {
    const choices = this.#tokenIds.map((tokenIds) => ({
      outputTokenIds: Int32Array.from(tokenIds),
      numSeen: 0,
    }));
    return { hasBegun: false, choices, numEvents: 0 };
  }
}
