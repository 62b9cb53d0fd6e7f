import type { SlotState } from '../../engine/slot-state.ts';
import { EngineError } from './errors.ts';
import type { EngineHandle } from './engine-process.ts';

/** A step takes milliseconds; an engine that takes longer than this is not asked again at once. */
const ANSWER_MS = 2000;

/** Asks an engine process for its slots; those who ask meanwhile share the answer. */
export class SlotInquiries {
  #pending: Promise<readonly SlotState[]> | null = null;
  #answer: (slots: readonly SlotState[]) => void = () => {};

  /** @throws EngineError when there is no process, or it says nothing within two seconds */
  ask(engineProcess: EngineHandle | undefined): Promise<readonly SlotState[]> {
    if (engineProcess === undefined)
      return Promise.reject(new EngineError('the engine is not ready'));
    this.#pending ??= this.#inquire(engineProcess).finally(() => (this.#pending = null));
    return this.#pending;
  }

  /** The process has answered. */
  answered(slots: readonly SlotState[]): void {
    this.#answer(slots);
  }

  #inquire(engineProcess: EngineHandle): Promise<readonly SlotState[]> {
    return new Promise((resolve, reject) => {
      const late = new EngineError(`the engine did not answer within ${ANSWER_MS / 1000} s`);
      const timer = setTimeout(() => reject(late), ANSWER_MS);
      this.#answer = (slots) => {
        clearTimeout(timer);
        resolve(slots);
      };
      engineProcess.send({ type: 'inspect' });
    });
  }
}
