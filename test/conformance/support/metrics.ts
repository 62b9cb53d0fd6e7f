/** Reads Prometheus metrics whose names end alike on all servers: `vllm:num_requests_running` and ours. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Target } from './target.ts';

export class Samples {
  readonly #lines: readonly string[];

  constructor(text: string) {
    this.#lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  }

  static async of(target: Target): Promise<Samples> {
    // A page is handed out again for 0.6 s; after that a scrape waits for one that is made anew.
    await sleep(700);
    const response = await target.get('/metrics');
    expect(response.status).toBe(200);
    return new Samples(await response.text());
  }

  /** The sum over all labels of what is called `name` behind its prefix. */
  value(name: string): number {
    const pattern = new RegExp(`^[a-z]+[_:]${name}(\\{.*\\})? `);
    const samples = this.#lines.filter((line) => pattern.test(line));
    if (samples.length === 0) throw new Error(`/metrics has no ${name}`);
    return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }
}
