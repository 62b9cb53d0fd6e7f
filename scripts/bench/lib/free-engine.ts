/**
 * Takes the engine process's place, whichever version's it is, and makes tokens out of nothing. Every request gets its prompt's tokens again and
 * again. All together get FREE_ENGINE_RATE tokens a second, in steps of a millisecond at least; with 0 a step
 * takes as long as its message needs to be written.
 */
import { existsSync } from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type {
  EngineCommand,
  EngineInfo,
  EngineMessage,
} from '../../../src/engine/process/protocol.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import type { LoopStats } from '../../../src/engine/stats.ts';

const INFO: EngineInfo = {
  runtimeVersion: 'none',
  device: 'cpu',
  numSlots: 1,
  maxNumSeqs: 1,
  kvCacheBytes: 0,
  kvCacheTokens: 1024,
  kvBlockTokens: 16,
  hiddenSize: null,
  embeddingWidth: null,
  threads: 1,
  sharedMemoryFd: null,
};

/** The message of a step, as the server's version of the engine writes it. */
type WriteStep = (outputs: readonly TokenOutput[], stats: LoopStats) => object;

class FreeEngine {
  readonly #live = new Map<number, { readonly request: EngineRequest; numTokens: number }>();
  /** Tokens per second; 0 is no limit. */
  readonly #rate: number;
  readonly #writeStep: WriteStep;
  #numSteps = 0;
  #isRunning = false;

  constructor(rate: number, writeStep: WriteStep) {
    this.#rate = rate;
    this.#writeStep = writeStep;
  }

  receive(command: EngineCommand): void {
    switch (command.type) {
      case 'start':
        process.send?.({ type: 'ready', info: INFO } satisfies EngineMessage);
        break;
      case 'resume':
      case 'add':
        for (const request of command.requests) {
          this.#live.set(request.id, { request, numTokens: 0 });
        }
        if (!this.#isRunning) void this.#run();
        break;
      case 'abort':
        for (const id of command.ids) this.#live.delete(id);
        break;
      case 'inspect':
        process.send?.({ type: 'slots', slots: [] } satisfies EngineMessage);
        break;
      case 'prepare':
      case 'watch':
        break;
      case 'shutdown':
        process.exit(0);
    }
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    let dueAt = performance.now();
    while (this.#live.size > 0) {
      dueAt += this.#stepMs();
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      await this.#step();
    }
    this.#isRunning = false;
  }

  #stepMs(): number {
    return this.#rate === 0 ? 0 : Math.max(1, (this.#live.size * 1000) / this.#rate);
  }

  async #step(): Promise<void> {
    const outputs = [...this.#live].map(([id, live]) => this.#advance(id, live));
    const message = this.#writeStep(outputs, this.#stats);
    await new Promise((resolve) => process.send?.(message, resolve));
    // Requests that came meanwhile.
    await setImmediate();
  }

  #advance(id: number, live: { readonly request: EngineRequest; numTokens: number }): TokenOutput {
    const { promptTokenIds, maxTokens } = live.request;
    const tokenId = promptTokenIds[live.numTokens++ % promptTokenIds.length] ?? 0;
    const isLast = live.numTokens === maxTokens;
    if (isLast) this.#live.delete(id);
    const output = { id, tokenId, finishReason: isLast ? ('length' as const) : null };
    return live.numTokens === 1 ? { ...output, numCachedTokens: 0 } : output;
  }

  get #stats(): LoopStats {
    return {
      numRunning: this.#live.size,
      numWaiting: 0,
      kvCacheUsage: 0.5,
      numSteps: ++this.#numSteps,
      stepTokens: this.#live.size,
      numPreemptions: 0,
      numYields: 0,
      prefixCacheQueries: 0,
      prefixCacheHits: 0,
      prefixCacheAbsent: 0,
      prefixCacheChanged: 0,
      numDrafts: 0,
      numDraftTokens: 0,
      numAcceptedTokens: 0,
      numForcedDraftTokens: 0,
      numForcedAcceptedTokens: 0,
    };
  }
}

/** Versions before this module wrote outputs as objects. */
async function stepWriter(main: string): Promise<WriteStep> {
  const module = main.replace(/main(\.\w+)$/, 'step-message$1');
  if (!existsSync(module)) return (outputs, stats) => ({ type: 'step', outputs, stats });
  const { toStepMessage }: { toStepMessage: WriteStep } = await import(pathToFileURL(module).href);
  return toStepMessage;
}

const main = process.argv[1] ?? '';
const engine = new FreeEngine(Number(process.env['FREE_ENGINE_RATE']), await stepWriter(main));
process.on('message', (command: EngineCommand) => engine.receive(command));
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
await new Promise(() => {});
