/**
 * A machine of the cluster: processes with a network, mounts and process ids of their own. When its first
 * process is killed, all are, and nothing is left of their mounts and links.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, until } from '../../../test/support/processes.ts';

const run = promisify(execFile);

/** Places that a machine may write by itself: folders of this one, by their paths in there. */
export type OwnFolders = Readonly<Record<string, string>>;

/** How to find a machine again. */
export interface MachineEntry {
  readonly name: string;
  readonly pid: number;
  /** In the kernel's ticks: a process with that id that started later is another one. */
  readonly startTime: string;
}

export class Machine {
  readonly entry: MachineEntry;
  /** Folder of its logs. */
  readonly #folder: string;

  constructor(entry: MachineEntry, folder: string) {
    this.entry = entry;
    this.#folder = folder;
  }

  /** @param folder of its logs */
  static async start(name: string, folder: string, own: OwnFolders = {}): Promise<Machine> {
    mkdirSync(folder, { recursive: true });
    const namespaces = ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
    // It waits for signals and for orphans, and does nothing else.
    const init = spawn('unshare', [...namespaces, 'catatonit', '-P'], {
      detached: true,
      stdio: 'ignore',
    });
    init.unref();
    await until(() => childrenOf(init.pid).length > 0, `the start of ${name}`);
    const [pid = 0] = childrenOf(init.pid);
    const machine = new Machine({ name, pid, startTime: startTimeOf(pid) ?? '' }, folder);
    await until(() => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'catatonit\n', name);
    await machine.run('mount', '-t', 'tmpfs', 'tmpfs', '/run');
    for (const [path, source] of Object.entries(own)) {
      mkdirSync(source, { recursive: true });
      await machine.run('mount', '--bind', source, path);
    }
    await machine.run('ip', 'link', 'set', 'lo', 'up');
    return machine;
  }

  get isRunning(): boolean {
    return startTimeOf(this.entry.pid) === this.entry.startTime;
  }

  /** A command line that runs in its network, and otherwise on this machine. */
  inNetwork(...command: readonly string[]): [string, ...string[]] {
    return ['nsenter', `--target=${this.entry.pid}`, '--net', '--', ...command];
  }

  #inside(command: readonly string[]): string[] {
    return [`--target=${this.entry.pid}`, '--net', '--mount', '--pid', '--', ...command];
  }

  /** @throws Error with what it printed, when it fails */
  async run(...command: readonly string[]): Promise<string> {
    return (await run('nsenter', this.#inside(command), { maxBuffer: 2 ** 26 })).stdout;
  }

  /** Starts a program that goes on until the machine ends; its log is NAME.log. */
  spawn(name: string, ...command: readonly string[]): void {
    const log = openSync(join(this.#folder, `${name}.log`), 'a');
    const child = spawn('nsenter', this.#inside(command), {
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    closeSync(log);
  }

  /** Nothing that runs in it hears of it before. */
  async kill(): Promise<void> {
    if (this.isRunning) process.kill(this.entry.pid, 'SIGKILL');
    while (this.isRunning) await sleep(20);
  }
}

/** Null where there is no such process. */
function startTimeOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the program's name, which may have anything in it; the first is the third field.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
