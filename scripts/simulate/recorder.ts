import { closeSync, openSync, writeSync } from 'node:fs';
import type { EngineRequest } from '../../src/engine/request.ts';
import type { StepRecord } from '../../src/engine/tap/step-record.ts';
import type { WrittenJson } from '../../src/server/http/written-json.ts';
import type { StepsEventOf } from '../../src/server/schemas/steps.ts';
import { KnownRequests } from '../../src/server/steps/known-requests.ts';
import {
  requestEvent,
  startEvent,
  stepEvent,
  written,
} from '../../src/server/steps/step-events.ts';

export interface RecorderOptions {
  /** Name of the simulation. */
  readonly name: string;
  /** Time of the virtual clock. */
  readonly fromMs: number;
  readonly maxSteps: number;
  readonly write: (line: string) => void;
}

/** Parts of an engine that a recorder needs. */
export interface RecordedEngine {
  readonly instance: number;
  readonly numSlots: number;
  readonly kvCacheTokens: number;
  readonly queue: () => Omit<StepsEventOf<'queue'>, 'type' | 'at'>;
}

/** How often the queue is told, in milliseconds of the virtual clock. */
const QUEUE_MS = 200;

/** A recorder that writes a file, to be closed. */
export function openRecording(path: string, options: Omit<RecorderOptions, 'write'>) {
  const file = openSync(path, 'w');
  // The simulation gives the event loop no turn: a stream would keep all of it in memory.
  const recorder = new Recorder({ ...options, write: (line) => void writeSync(file, line) });
  return { recorder, close: () => closeSync(file) };
}

/** Writes what simulated engines do, as /admin/steps tells it, on lines: the page replays the file. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #requests = new Map<number, KnownRequests>();
  readonly #queueDueAt = new Map<number, number>();
  readonly #numCrashes = new Map<number, number>();
  #numSteps = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#write(startEvent(options.name, 1, options.fromMs));
  }

  /** An engine that starts, or has crashed. */
  became(engine: RecordedEngine, state: 'ready' | 'recovering', nowMs: number): void {
    const numCrashes = (this.#numCrashes.get(engine.instance) ?? 0) + Number(state !== 'ready');
    this.#numCrashes.set(engine.instance, numCrashes);
    this.#write(
      written({
        type: 'engine',
        at: nowMs,
        instance: engine.instance,
        state,
        crashes: numCrashes,
        unfinished: 0,
        slots: engine.numSlots,
        kv_tokens: engine.kvCacheTokens,
      }),
    );
    this.#requests.set(engine.instance, new KnownRequests());
  }

  stepped(
    { instance, queue }: RecordedEngine,
    record: StepRecord,
    requestOf: (id: number) => EngineRequest | undefined,
  ): void {
    const { startedAt } = record;
    if (startedAt < this.#options.fromMs || this.#numSteps >= this.#options.maxSteps) return;
    this.#numSteps++;
    const describe = (id: number) => requestEvent(id, requestOf(id), instance, 0);
    for (const event of this.#requests.get(instance)?.introduce(record, describe) ?? []) {
      this.#write(event);
    }
    if (startedAt >= (this.#queueDueAt.get(instance) ?? 0)) {
      this.#queueDueAt.set(instance, startedAt + QUEUE_MS);
      this.#write(written({ type: 'queue', at: startedAt, ...queue() }));
    }
    this.#write(stepEvent(record, instance));
  }

  #write({ text }: WrittenJson): void {
    this.#options.write(`${text}\n`);
  }
}
