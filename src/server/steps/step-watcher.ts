import { LIMITS } from '../../limits.ts';
import type { WrittenJson } from '../http/written-json.ts';
import { written } from './step-events.ts';

/**
 * Events that one client has still to be sent. If it reads too slowly, all of them are dropped; it then
 * receives the number of lost steps and a new snapshot.
 */
export class StepWatcher {
  readonly #snapshot: () => readonly WrittenJson[];
  #pending: WrittenJson[];
  #numCharacters = 0;
  #isBehind = false;
  #numLost = 0;

  /** @param snapshot what a client must know to understand the next step */
  constructor(snapshot: () => readonly WrittenJson[]) {
    this.#snapshot = snapshot;
    this.#pending = [...snapshot()];
  }

  push(event: WrittenJson): void {
    this.#numCharacters += event.text.length;
    this.#pending.push(event);
    if (!this.#isBehind && this.#numCharacters <= LIMITS.stepWatcherCharacters) return;
    this.#isBehind = true;
    this.#numLost += this.#pending.filter(({ type }) => type === 'step').length;
    this.#pending = [];
  }

  /** Takes all events that wait. */
  take(): readonly WrittenJson[] {
    const events = this.#isBehind
      ? [written({ type: 'lost', steps: this.#numLost }), ...this.#snapshot()]
      : this.#pending;
    this.#pending = [];
    this.#numCharacters = 0;
    this.#isBehind = false;
    this.#numLost = 0;
    return events;
  }
}
