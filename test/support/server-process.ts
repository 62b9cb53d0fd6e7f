import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { childrenOf } from './processes.ts';

/** Line of a server that is ready; its address is the first group. */
export const STARTED = /at (https?:\/\/\S+)/;

export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything printed so far. */
  output(): string;
  /** Sends a signal and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface ProcessOptions {
  /** Files and sockets that the process may have open; not on Windows. */
  readonly maxDescriptors?: number;
  /** Text that comes on stdin; nothing if left out. */
  readonly input?: string;
  /** A module that is loaded first; it may talk to who started the process (`child.send`). */
  readonly preload?: string;
  /** Program to run, and where, in place of `dist/cli/main.js` here. */
  readonly program?: { readonly command: readonly string[]; readonly cwd: string };
}

/** Runs the command line as users do: the compiled one, in its own process. */
export function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  { maxDescriptors, input, preload, program }: ProcessOptions = {},
): ChildProcess {
  const node = [process.execPath, ...(preload === undefined ? [] : ['--import', preload])];
  const command = [...(program?.command ?? [...node, 'dist/cli/main.js']), ...args];
  const limited = ['sh', '-c', `ulimit -n ${maxDescriptors}; exec "$@"`, 'sh', ...command];
  const [file = '', ...rest] = maxDescriptors === undefined ? command : limited;
  const child = spawn(file, rest, {
    env: { ...process.env, ...env },
    ...(program && { cwd: program.cwd }),
    stdio: [
      input === undefined ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
      ...(preload === undefined ? [] : (['ipc'] as const)),
    ],
  });
  child.stdin?.end(input);
  return child;
}

/** Said on slow machines alone, as text or in a log: `loading summit ...` */
const NOTICE = /^.*[^.] \.\.\.("\})?\n/gm;

/** Runs a command that is expected to end by itself. @returns its output without notices */
export async function runToEnd(
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
  options?: ProcessOptions,
) {
  const child = runCli(args, env, options);
  const output = collect(child);
  const [code] = await once(child, 'close');
  return { code, output: output().replaceAll(NOTICE, '') };
}

/** Starts `chairlift serve` on a free port and waits until it is ready. */
export async function startServer(
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
  limits?: ProcessOptions,
): Promise<ServerProcess> {
  const child = runCli(['serve', '--port', '0', '--log-level', 'warn', ...args], env, limits);
  const output = collect(child);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const match = STARTED.exec(output());
      if (match?.[1]) resolve(match[1]);
    });
    child.once('close', (code) => reject(new Error(`serve ended with ${code}:\n${output()}`)));
  });
  return {
    url,
    child,
    output,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const closed = once(child, 'close');
      child.kill(signal);
      const [code] = await closed;
      return code;
    },
  };
}

/** The id of a server's engine process. */
export function engineOf(server: ServerProcess): number {
  const [pid] = childrenOf(server.child.pid);
  if (pid === undefined) throw new Error('the server has no engine process');
  return pid;
}

/** @returns everything that a process has printed so far */
export function collect(child: ChildProcess): () => string {
  let text = '';
  const append = (chunk: Buffer) => (text += chunk.toString());
  child.stdout?.on('data', append);
  child.stderr?.on('data', append);
  return () => text;
}
