/** Requests of an honest client of every API, one after the other, and how it fared. */
import { setTimeout as sleep } from 'node:timers/promises';
import { grpcClient, type StreamClient } from '../../../scripts/bench/lib/stream-clients.ts';
import { upload } from './batch-file.ts';
import type { Client } from './client.ts';

export interface Fared {
  /** Requests that were answered as they should be. */
  served: number;
  /** Milliseconds to the first piece of each text, and between two pieces. */
  readonly firsts: number[];
  readonly gaps: number[];
  /** Failures, by the request. */
  readonly errors: string[];
}

const TOKENS = 48;
/** Between two requests: a client that reads what it got. */
const THINK_MS = 100;
const POLL_MS = 250;

/** The same server by gRPC. */
interface GrpcDoor {
  readonly key: string;
  readonly grpcAddress: string;
  /** Model that is asked by name, as this API needs it. */
  readonly model: string;
  /** The server's, in PEM, where it has TLS. */
  readonly certificate?: Buffer | undefined;
}

/** Honest clients see what happens to them in the tally of the moment. */
export class LegitimateClient {
  readonly #client: Client;
  readonly #grpc: StreamClient;
  readonly #model: string;
  readonly #name: string;
  readonly #tally: () => Fared;
  #turn = 0;

  constructor(
    client: Client,
    { key, grpcAddress, model, certificate }: GrpcDoor,
    tally: () => Fared,
  ) {
    this.#client = client;
    this.#name = key;
    this.#model = model;
    this.#grpc = grpcClient(grpcAddress, key, certificate);
    this.#tally = tally;
  }

  /** Until `signal` aborts, and the request that is at work then has ended. Never rejects. */
  async work(signal: AbortSignal): Promise<void> {
    const acts: Readonly<Record<string, () => Promise<void>>> = {
      chat: () => this.#stream('/v1/chat/completions', { messages: this.#messages() }),
      completion: () => this.#stream('/v1/completions', { prompt: this.#prompt() }),
      WebSocket: () => this.#socket(),
      gRPC: () => this.#call(),
      embeddings: () => this.#ask('/v1/embeddings', { input: [this.#prompt(), this.#prompt()] }),
      whole: () => this.#ask('/v1/completions', { prompt: this.#prompt(), max_tokens: TOKENS }),
      batch: () => this.#batch(),
    };
    const names = Object.keys(acts);
    while (!signal.aborted) {
      const name = names[this.#turn++ % names.length] ?? '';
      const tally = this.#tally();
      try {
        await acts[name]?.();
        tally.served++;
      } catch (error) {
        tally.errors.push(`${this.#name}, ${name}: ${String(error).slice(0, 200)}`);
      }
      await sleep(THINK_MS);
    }
    this.#grpc.close();
  }

  #prompt(): string {
    return `Story ${this.#turn} of ${this.#name}: once upon a time`;
  }

  #messages() {
    return [{ role: 'user', content: this.#prompt() }];
  }

  #note(startedAt: number, times: readonly number[]): void {
    const { firsts, gaps } = this.#tally();
    for (const [index, at] of times.entries()) {
      if (index === 0) firsts.push(at - startedAt);
      else gaps.push(at - (times[index - 1] ?? at));
    }
  }

  async #stream(path: string, body: object): Promise<void> {
    const times: number[] = [];
    const startedAt = performance.now();
    const asked = { ...body, max_tokens: TOKENS, ignore_eos: true };
    await this.#client.stream(path, asked, () => times.push(performance.now()));
    this.#note(startedAt, times);
  }

  async #socket(): Promise<void> {
    const socket = await this.#client.socket('/v1/completions');
    const times: number[] = [];
    const startedAt = performance.now();
    const done = new Promise<void>((resolve, reject) => {
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as { type?: string; error?: object };
        if (frame.error !== undefined) reject(new Error(JSON.stringify(frame.error)));
        else if (frame.type === 'done') resolve();
        else times.push(performance.now());
      });
      socket.on('close', () => reject(new Error('the socket was closed')));
    });
    const asked = { prompt: this.#prompt(), max_tokens: TOKENS, ignore_eos: true, stream: true };
    socket.send(JSON.stringify({ request_id: 'story', ...asked }));
    await done.finally(() => socket.terminate());
    this.#note(startedAt, times);
  }

  async #call(): Promise<void> {
    const startedAt = performance.now();
    const times = await this.#grpc.time(this.#model, this.#prompt(), TOKENS);
    if (times.length === 0) throw new Error('the call ended without a token');
    this.#note(startedAt, times);
  }

  async #batch(): Promise<void> {
    const lines = ['a', 'b', 'c'].map((id) => {
      const body = { prompt: this.#prompt(), max_tokens: 8 };
      return JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/completions', body });
    });
    const { status: uploaded, text: told } = await upload(this.#client, lines.join('\n'));
    if (uploaded !== 200) throw new Error(`/v1/files: ${uploaded} ${told}`);
    const { id: file } = JSON.parse(told) as { readonly id: string };
    const endpoint = { endpoint: '/v1/completions', completion_window: '24h' };
    let batch = await this.#json('/v1/batches', { body: { input_file_id: file, ...endpoint } });
    const { id } = batch;
    while (['validating', 'in_progress', 'finalizing'].includes(String(batch['status']))) {
      await sleep(POLL_MS);
      batch = await this.#json(`/v1/batches/${String(id)}`, {});
    }
    const output = String(batch['output_file_id']);
    const { status, text } = await this.#client.send(`/v1/files/${output}/content`);
    const numLines = text.trim().split('\n').length;
    if (status !== 200 || numLines !== lines.length) {
      throw new Error(`${status}, ${numLines} lines: ${JSON.stringify(batch).slice(0, 150)}`);
    }
    for (const each of [file, output]) {
      await this.#json(`/v1/files/${each}`, { method: 'DELETE' });
    }
  }

  async #ask(path: string, body: object): Promise<void> {
    await this.#json(path, { body });
  }

  async #json(path: string, options: Parameters<Client['send']>[1]) {
    const { status, text } = await this.#client.send(path, options);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  }
}
