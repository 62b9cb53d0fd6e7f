import { guarded } from './guarded.ts';

/**
 * Shares the event loop between work that has come at once and everything else: some of it begins in each
 * of its turns, in the order in which it came, so that tokens of running answers go out in between, and new
 * connections come in: of each port Node accepts one a turn.
 */
export class LoopTurns {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #numBegun = 0;

  /** @param perTurn pieces of work that begin in a turn */
  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Resolves when a piece of work may begin. */
  async next(): Promise<void> {
    if (this.#numBegun === 0) this.#turnSoon();
    if (this.#numBegun++ < this.#perTurn) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Whatever goes wrong in a turn, those that wait get theirs. */
  #turnSoon(): void {
    const turn = (): void => this.#turn();
    const goOn = (error: unknown): never => {
      this.#turn();
      throw error;
    };
    setImmediate(guarded(turn, goOn));
  }

  #turn(): void {
    const begun = this.#waiting.splice(0, this.#perTurn);
    // Those that still wait count as begun: who comes now comes after them.
    this.#numBegun = begun.length + this.#waiting.length;
    if (this.#numBegun > 0) this.#turnSoon();
    for (const resolve of begun) resolve();
  }
}
