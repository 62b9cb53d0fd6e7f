import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EventLoopDelays } from './event-loop-monitor.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MONITOR = new URL('./event-loop-monitor.ts', import.meta.url).href;
const READY = /at (http:\/\/\S+)/;
const GRPC = /gRPC at (\S+)/;

export interface ServerProcess {
  readonly url: string;
  /** With `--grpc-port`. */
  readonly grpcAddress: string | null;
  readonly pid: number | undefined;
  /** Delays of its event loop since the last call; with `monitorsLoop`. */
  eventLoopDelays(): Promise<EventLoopDelays>;
  /** Has it finish what is running, and end. */
  close(): Promise<void>;
}

export interface StartOptions {
  /** The checkout to run, if not this one. */
  readonly root?: string;
  /** Further flags of Node for the front, such as `--cpu-prof`. */
  readonly nodeFlags?: readonly string[];
  /** Samples the front's event loop every millisecond, which takes CPU time. */
  readonly monitorsLoop?: boolean;
  /** A module in JavaScript that the server and its processes load before anything else. */
  readonly preload?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Makes every step compute one token for each sequence. A server drafts by default when few streams run,
 * and the texts of random weights repeat themselves: most drafts are accepted, and a rate measures that
 * alone. A benchmark of drafts says so with a flag of its own, which comes later and wins.
 */
export const NO_DRAFTS = '--speculative=off';

/**
 * Starts `chairlift serve` in a process of its own, on a free port, without drafts. From source, like
 * the code that it is compared with: a stale build would compare two versions.
 */
export async function startServer(
  args: readonly string[],
  {
    root = ROOT,
    nodeFlags = [],
    monitorsLoop = false,
    preload,
    environment = {},
  }: StartOptions = {},
): Promise<ServerProcess> {
  const monitor = monitorsLoop ? ['--import', MONITOR] : [];
  const node = [...process.execArgv, ...monitor, ...nodeFlags];
  const cli = join(root, 'src/cli/main.ts');
  const argv = [...node, cli, 'serve', '--port', '0', '--log-level', 'warn', NO_DRAFTS, ...args];
  const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const;
  const loaded = preload === undefined ? {} : { NODE_OPTIONS: `--import=${preload}` };
  const env = { ...process.env, ...loaded, ...environment };
  const child = spawn(process.execPath, argv, { stdio: [...stdio], env });
  const closed = once(child, 'close');
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      const match = READY.exec(printed);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
    child.once('close', (code) => reject(new Error(`serve ended with ${code}`)));
  });
  return {
    url,
    grpcAddress: GRPC.exec(printed)?.[1] ?? null,
    pid: child.pid,
    async eventLoopDelays() {
      const answered = once(child, 'message');
      child.send('delays');
      const [delays] = await answered;
      return delays;
    },
    async close() {
      child.kill('SIGTERM');
      await closed;
    },
  };
}
