import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import type {
  EngineCommand,
  EngineInfo,
  EngineMessage,
} from '../../src/engine/process/protocol.ts';
import { toStepMessage } from '../../src/engine/process/step-message.ts';
import { IDLE_STATS } from '../../src/front/engine-process/engine-contract.ts';
import type {
  EngineHandle,
  EngineProcessEvents,
} from '../../src/front/engine-process/engine-process.ts';
import { stepRecord } from './step-records.ts';

const INFO: EngineInfo = {
  runtimeVersion: 'fake',
  device: 'cpu',
  numSlots: 1,
  maxNumSeqs: 1,
  kvCacheBytes: 0,
  kvCacheTokens: 1024,
  kvBlockTokens: 16,
  threads: 1,
  hiddenSize: null,
  embeddingWidth: null,
  sharedMemoryFd: null,
};

/** The time that everything takes, in milliseconds. */
export const LOAD_MS = 200;
export const STEP_MS = 10;
/** Steps before a request's first token in a process. */
export const PREFILL_STEPS = 3;

/** The token that a request has at a place of its output. */
export function tokenAt({ promptTokenIds }: Pick<EngineRequest, 'promptTokenIds'>, place: number) {
  return ((promptTokenIds[0] ?? 0) * 1000 + place) % 65_521;
}

interface Running {
  readonly request: EngineRequest;
  numTokens: number;
  numSteps: number;
}

export interface FakeProcessOptions {
  /** Whether a step with this request, when it has so many tokens, ends the process. */
  readonly crashes?: (request: EngineRequest, numTokens: number) => boolean;
}

/** An engine process without a process: it runs on timers, and dies when it is told or by a request. */
export class FakeEngineProcess implements EngineHandle {
  readonly pid = 1;
  readonly commands: EngineCommand[] = [];
  /** Says nothing of its slots. */
  isMute = false;
  /** Interval in steps of the wanted records; null for none. */
  every: number | null = null;
  readonly #events: EngineProcessEvents;
  readonly #options: FakeProcessOptions;
  readonly #running = new Map<number, Running>();
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #numSteps = 0;

  constructor(events: EngineProcessEvents, options: FakeProcessOptions = {}) {
    this.#events = events;
    this.#options = options;
  }

  get ended(): boolean {
    return this.#ended;
  }

  send(command: EngineCommand): void {
    if (this.#ended) return;
    this.commands.push(command);
    if (command.type === 'start') {
      this.#timer = setTimeout(() => this.#load(), LOAD_MS);
    } else if (command.type === 'inspect') {
      const slots = [{ slot: 0, sequence: null, numKeptTokens: this.#running.size }];
      if (!this.isMute) setTimeout(() => this.#post({ type: 'slots', slots }), STEP_MS);
    } else if (command.type === 'watch') {
      this.every = command.every;
    } else if (command.type === 'abort') for (const id of command.ids) this.#running.delete(id);
    else if (command.type === 'add' || command.type === 'resume')
      for (const request of command.requests) this.#take(request);
  }

  kill(): void {
    this.end('signal SIGKILL');
  }

  end(description: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#events.onExit(description);
  }

  stop(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#timer);
    return Promise.resolve();
  }

  openDescriptor(): undefined {}

  #load(): void {
    this.#timer = setInterval(() => this.#step(), STEP_MS);
    this.#post({ type: 'ready', info: INFO });
  }

  #take(request: EngineRequest): void {
    const numTokens = request.outputTokenIds.length;
    this.#running.set(request.id, { request, numTokens, numSteps: 0 });
  }

  #step(): void {
    const running = [...this.#running.values()];
    const { crashes = () => false } = this.#options;
    if (running.some(({ request, numTokens }) => crashes(request, numTokens))) {
      this.end('code 139');
      return;
    }
    const outputs = running.flatMap((each) => this.#advance(each));
    const step = this.#numSteps++;
    const isWanted = this.every !== null && step % this.every === 0;
    this.#post(toStepMessage(outputs, IDLE_STATS, isWanted ? stepRecord([], { step }) : null));
  }

  #advance(running: Running): TokenOutput[] {
    const { request } = running;
    if (++running.numSteps <= PREFILL_STEPS) return [];
    const tokenId = tokenAt(request, running.numTokens++);
    const isLast = running.numTokens === request.maxTokens;
    if (isLast) this.#running.delete(request.id);
    return [{ id: request.id, tokenId, finishReason: isLast ? 'length' : null }];
  }

  #post(message: EngineMessage): void {
    this.#events.onMessage(message);
  }
}
