/** `chairlift bench` against one, two and three replicas behind HAProxy. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { metric } from '../../../test/support/http-client.ts';
import { type ReplicaName, type ReplicaOptions, Replicas } from '../../../test/support/replicas.ts';
import { runToEnd } from '../../../test/support/server-process.ts';

export interface ThroughputOutcome {
  readonly replicas: number;
  readonly completed: number;
  readonly failed: number;
  readonly outputTokensPerSecond: number;
  readonly p99TtftMs: number;
  /** Requests that each replica served. */
  readonly served: readonly number[];
  /** Jain's index of those: 1 is the same for all. */
  readonly fairness: number;
}

const report = z.object({
  completed: z.number(),
  failed: z.number(),
  output_throughput: z.number(),
  p99_ttft_ms: z.number(),
});

export async function throughputOf(
  names: readonly ReplicaName[],
  options: ReplicaOptions,
  numPrompts: number,
): Promise<ThroughputOutcome> {
  const replicas = await Replicas.start(names, options);
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-bench-'));
  try {
    const file = join(folder, 'result.json');
    const args = ['bench', '--base-url', replicas.url, '--save-result', file];
    const load = ['--num-prompts', `${numPrompts}`, '--max-concurrency', '24'];
    const lengths = ['--random-input-len', '64', '--random-output-len', '64'];
    const { code, output } = await runToEnd([...args, ...load, ...lengths]);
    if (code !== 0) throw new Error(`chairlift bench ended with ${code}:\n${output}`);
    const result = report.parse(JSON.parse(await readFile(file, 'utf8')));
    const served = await Promise.all(
      [...replicas.running.values()].map(({ url }) =>
        metric(url, 'chairlift_request_success_total'),
      ),
    );
    return {
      replicas: names.length,
      completed: result.completed,
      failed: result.failed,
      outputTokensPerSecond: result.output_throughput,
      p99TtftMs: result.p99_ttft_ms,
      served,
      fairness: fairnessOf(served),
    };
  } finally {
    await replicas.stop();
    await rm(folder, { recursive: true });
  }
}

function fairnessOf(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share ** 2, 0);
  return sum ** 2 / (shares.length * squares);
}
