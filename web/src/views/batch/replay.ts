import type { BatchEvent } from './step-events.ts';
import { Timeline } from './timeline.ts';

/** Plays a recording at its own pace, or another. */
export class Replay {
  readonly events: readonly BatchEvent[];
  /** Place of each step in `events`. */
  readonly #steps: readonly number[];
  timeline = new Timeline();
  speed = 1;
  isPlaying = true;
  /** Events that were applied. */
  #position = 0;
  /** Steps among them. */
  #numShown = 0;
  /** Time of the recording, in milliseconds. */
  #clock: number;

  /** @param events with at least one step */
  constructor(events: readonly BatchEvent[]) {
    this.events = events;
    this.#steps = events.flatMap(({ type }, place) => (type === 'step' ? [place] : []));
    this.#clock = this.#timeOf(0);
  }

  get numSteps(): number {
    return this.#steps.length;
  }

  get numShown(): number {
    return this.#numShown;
  }

  /** So much time went by. */
  advance(ms: number): void {
    if (!this.isPlaying) return;
    this.#clock += ms * this.speed;
    while (this.#numShown < this.numSteps && this.#timeOf(this.#numShown) <= this.#clock) {
      this.#showNext();
    }
    if (this.#numShown === this.numSteps) this.isPlaying = false;
  }

  /** Shows so many steps, from the first on. */
  seek(numSteps: number): void {
    const target = Math.max(1, Math.min(this.numSteps, Math.round(numSteps)));
    if (target < this.#numShown) {
      this.timeline = new Timeline();
      this.#position = 0;
      this.#numShown = 0;
    }
    while (this.#numShown < target) this.#showNext();
    this.#clock = this.#timeOf(target - 1);
  }

  /** Plays on, from the start if it is at its end. */
  play(): void {
    if (this.#numShown === this.numSteps) this.seek(1);
    this.isPlaying = true;
  }

  #showNext(): void {
    const end =
      this.#numShown + 1 === this.numSteps ? this.events.length : this.#placeOf(this.#numShown) + 1;
    for (; this.#position < end; this.#position++) {
      const event = this.events[this.#position];
      if (event) this.timeline.apply(event);
    }
    this.#numShown++;
    if (this.#numShown < this.numSteps) return;
    for (const instance of this.timeline.instances) {
      const last = this.timeline.columns(instance).at(-1);
      if (last !== undefined) this.timeline.settle(last);
    }
  }

  #placeOf(step: number): number {
    return this.#steps[step] ?? 0;
  }

  #timeOf(step: number): number {
    const event = this.events[this.#placeOf(step)];
    return event?.type === 'step' ? event.at : 0;
  }
}
