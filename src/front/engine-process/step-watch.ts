import type { EngineCommand } from '../../engine/process/protocol.ts';
import type { EngineRequest } from '../../engine/request.ts';
import type { StepRecord } from '../../engine/tap/step-record.ts';
import type { EngineState, StepListener } from './engine-contract.ts';

/** Watchers of an engine process, and how closely they watch. It makes records of its steps only for them. */
export class StepWatch {
  readonly #send: (command: EngineCommand) => void;
  readonly #requestOf: (id: number) => EngineRequest | undefined;
  /** Listeners, and the interval of steps at which each gets a record. */
  readonly #listeners = new Map<StepListener, number>();
  #every: number | null = null;

  /**
   * @param send sends a command to the engine, if one runs
   * @param requestOf the request of an id; undefined once it has ended
   */
  constructor(
    send: (command: EngineCommand) => void,
    requestOf: (id: number) => EngineRequest | undefined,
  ) {
    this.#send = send;
    this.#requestOf = requestOf;
  }

  /** @returns ends it */
  add(listener: StepListener, every: number): () => void {
    this.#listeners.set(listener, every);
    this.#tell();
    return () => {
      this.#listeners.delete(listener);
      this.#tell();
    };
  }

  /** A new process knows of no watchers. */
  started(): void {
    this.#every = null;
    this.#tell();
  }

  /** To be called while the requests that end with the step are still known. */
  stepped(record: StepRecord): void {
    for (const [listener, every] of this.#listeners) {
      if (record.step % every === 0) listener.stepped(record, this.#requestOf, 0);
    }
  }

  /** @param numUnfinished requests that go on when it is back */
  became(state: EngineState, numUnfinished: number): void {
    for (const listener of this.#listeners.keys()) listener.became(state, numUnfinished, 0);
  }

  #tell(): void {
    const every = this.#listeners.size === 0 ? null : divisorOf([...this.#listeners.values()]);
    if (every === this.#every) return;
    this.#every = every;
    this.#send({ type: 'watch', every });
  }
}

/** The greatest that divides all of them. */
function divisorOf(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => {
    while (b > 0) [a, b] = [b, a % b];
    return a;
  });
}
