/** CPU time and memory that this server's processes use. */
import { readFile } from 'node:fs/promises';

/** Use of a process since it began. */
interface Taken {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
}

export interface ProcessUse {
  /** Processors that were busy with it on average since the look before. */
  readonly cpus: number;
  readonly rssBytes: number;
}

/** Use of the front, and of all engine processes together; null if the system does not report these. */
export interface ServerUse {
  readonly front: ProcessUse;
  readonly engines: ProcessUse | null;
}

/** Ticks per second, as Linux reports them to programs, whatever its own clock. */
const TICKS = 100;
/** In /proc/PID/stat after the name: time in programs and in the system, as numbers of ticks. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

/** Looks at the processes every now and then. */
export class ProcessWatch {
  readonly #pids: () => readonly number[];
  /** CPU seconds at the look before, by process. */
  #before = new Map<number, number>();
  #lookedAt = performance.now();
  #use: ServerUse = { front: { cpus: 0, rssBytes: ownRssBytes() ?? 0 }, engines: null };

  /** @param pids of the running engine processes */
  constructor(pids: () => readonly number[]) {
    this.#pids = pids;
    this.#before.set(process.pid, ownCpuSeconds());
  }

  /** As of the last look. */
  get use(): ServerUse {
    return this.#use;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const pids = [...new Set(this.#pids())];
    const found = await Promise.all(pids.map(async (pid) => [pid, await takenBy(pid)] as const));
    const now = performance.now();
    const seconds = Math.max(0.001, (now - this.#lookedAt) / 1000);
    const after = new Map<number, number>();
    const useOf = (pid: number, { cpuSeconds, rssBytes }: Taken): ProcessUse => {
      after.set(pid, cpuSeconds);
      const spent = cpuSeconds - (this.#before.get(pid) ?? cpuSeconds);
      return { cpus: spent / seconds, rssBytes };
    };
    const rssBytes = ownRssBytes() ?? this.#use.front.rssBytes;
    const own = { cpuSeconds: ownCpuSeconds(), rssBytes };
    const front = useOf(process.pid, own);
    const engines = found.flatMap(([pid, taken]) => (taken === null ? [] : [useOf(pid, taken)]));
    this.#use = { front, engines: engines.length === 0 ? null : sumOf(engines) };
    this.#before = after;
    this.#lookedAt = now;
  }
}

function sumOf(uses: readonly ProcessUse[]): ProcessUse {
  return {
    cpus: uses.reduce((sum, { cpus }) => sum + cpus, 0),
    rssBytes: uses.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
  };
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Null while this process has no descriptor left: Node reads a file for it. */
function ownRssBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}

/** Null for a process that is gone, and on systems without /proc. */
async function takenBy(pid: number): Promise<Taken | null> {
  try {
    const [stat, status] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/status`, 'utf8'),
    ]);
    // The name is in brackets, and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME]);
    const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    return { cpuSeconds: ticks / TICKS, rssBytes: kilobytes * 1024 };
  } catch {
    return null;
  }
}
