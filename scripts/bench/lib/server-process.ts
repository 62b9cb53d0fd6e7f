import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EventLoopDelays } from './event-loop-monitor.ts';

const CLI = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const MONITOR = new URL('./event-loop-monitor.ts', import.meta.url).href;
const READY = /at (http:\/\/\S+)/;
const GRPC = /gRPC at (\S+)/;

export interface ServerProcess {
  readonly url: string;
  /** With `--grpc-port`. */
  readonly grpcAddress: string | null;
  readonly pid: number | undefined;
  /** Delays of its event loop since the last call. */
  eventLoopDelays(): Promise<EventLoopDelays>;
  /** Has it finish what is running, and end. */
  close(): Promise<void>;
}

/**
 * Starts `chairlift serve` in a process of its own, on a free port. From source, like the code that
 * it is compared with: a stale build would compare two versions.
 */
export async function startServer(args: readonly string[]): Promise<ServerProcess> {
  const node = [...process.execArgv, '--import', MONITOR];
  const argv = [...node, CLI, 'serve', '--port', '0', '--log-level', 'warn', ...args];
  const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const;
  const child = spawn(process.execPath, argv, { stdio: [...stdio] });
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
