import { afterConnections } from './accepted-connections.ts';
import { guarded } from './guarded.ts';
import { RoundRobin } from './round-robin.ts';

/**
 * Shares the event loop between work that has come at once and everything else: some of it begins in each
 * of its turns, after connections that have come, so that tokens of running answers go out in between. Clients
 * take turns, each with its own in order of arrival.
 */
export class LoopTurns {
  readonly #perTurn: number;
  readonly #later: (run: () => void) => void;
  readonly #waiting = new RoundRobin<() => void>();
  #numBegun = 0;

  /**
   * @param perTurn pieces of work that begin in a turn
   * @param later calls back in a later turn
   */
  constructor(perTurn: number, later: (run: () => void) => void = afterConnections) {
    this.#perTurn = perTurn;
    this.#later = later;
  }

  /** Resolves when a piece of work of a client may begin. */
  async next(client: string): Promise<void> {
    if (this.#numBegun === 0) this.#turnSoon();
    if (this.#numBegun++ < this.#perTurn) return;
    await new Promise<void>((resolve) => this.#waiting.push(client, resolve));
  }

  /** Whatever goes wrong in a turn, those that wait get theirs. */
  #turnSoon(): void {
    const turn = (): void => this.#turn();
    const goOn = (error: unknown): never => {
      this.#turn();
      throw error;
    };
    this.#later(guarded(turn, goOn));
  }

  #turn(): void {
    // Those that still wait count as begun: who comes now comes after them.
    this.#numBegun = this.#waiting.size;
    if (this.#numBegun > 0) this.#turnSoon();
    for (let begun = 0; begun < this.#perTurn; begun++) this.#waiting.shift()?.();
  }
}
