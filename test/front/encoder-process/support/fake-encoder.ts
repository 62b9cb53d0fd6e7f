import type {
  EncoderCommand,
  EncoderInput,
  EncoderOutcome,
} from '../../../../src/encoder/process/protocol.ts';
import type {
  EncoderEvents,
  EncoderHandle,
} from '../../../../src/front/encoder-process/encoder-client.ts';

export const LOAD_MS = 200;
export const RUN_MS = 10;

export interface FakeEncoderOptions {
  /** Whether the process dies over a text that begins with this token. */
  readonly crashes?: (token: number) => boolean;
  /** Whether it never ends a run with such a text. */
  readonly hangs?: (token: number) => boolean;
}

/** An encoder process without a process: it runs on timers and answers with a text's first token. */
export class FakeEncoder implements EncoderHandle {
  readonly pid = 1;
  readonly batches: number[][] = [];
  readonly #events: EncoderEvents;
  readonly #options: FakeEncoderOptions;
  #ended = false;

  constructor(events: EncoderEvents, options: FakeEncoderOptions) {
    this.#events = events;
    this.#options = options;
  }

  send(command: EncoderCommand): void {
    if (this.#ended || command.type === 'shutdown' || command.type === 'more') return;
    // Its inputs are tokens, which go in one message.
    if (command.type === 'part') return;
    if (command.type === 'start') {
      setTimeout(() => this.#load(), LOAD_MS);
      return;
    }
    const { id, inputs } = command;
    const tokens = inputs.map(firstToken);
    this.batches.push(tokens);
    const { crashes = () => false, hangs = () => false } = this.#options;
    if (tokens.some(hangs)) return;
    setTimeout(() => {
      if (tokens.some(crashes)) this.#end('code 139');
      else this.#post({ type: 'done', id, outcomes: tokens.map(outcomeOf), lists: null });
    }, RUN_MS);
  }

  kill(): void {
    this.#end('signal SIGKILL');
  }

  stop(): Promise<void> {
    this.#ended = true;
    return Promise.resolve();
  }

  #load(): void {
    const signature = { inputs: [], outputs: [], isBatched: true };
    const info = {
      ...{ runtimeVersion: 'fake', threads: 1, signature },
      ...{ residentBytes: 0, maxBytes: null, text: null },
    };
    this.#post({ type: 'ready', info });
  }

  #post(message: Parameters<EncoderEvents['onMessage']>[0]): void {
    if (!this.#ended) this.#events.onMessage(message);
  }

  #end(description: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onExit(description);
  }
}

function firstToken(input: EncoderInput): number {
  return input.type === 'tokens' ? (input.ids[0] ?? -1) : -1;
}

function outcomeOf(token: number): EncoderOutcome {
  const data = Float32Array.of(token);
  return { type: 'done', output: [{ name: 'vector', datatype: 'FP32', shape: [1], data }] };
}
