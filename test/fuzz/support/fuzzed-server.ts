/** The server that is sent everything: a real one, with its threads and its engine, as users run it. */
import { readFileSync } from 'node:fs';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

export interface FuzzedServer {
  readonly url: string;
  /** CPU time of the front's main thread so far, in milliseconds; NaN where that can't be told. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** @param givenUrl a server that runs already, in place of one of its own */
export async function fuzzedServer(givenUrl: string | undefined): Promise<FuzzedServer> {
  if (givenUrl !== undefined) return { url: givenUrl, cpuMs: () => NaN, stop: async () => {} };
  const cache = await temporaryCache();
  const server = await startServer(['--threads=1', '--kv-cache-memory=256m'], cache.env);
  return {
    url: server.url,
    cpuMs: () => mainThreadMs(server),
    async stop() {
      await server.stop();
      await cache.remove();
    },
  };
}

/** As Linux counts it, by the nanosecond; not what the process's other threads take. */
function mainThreadMs({ child: { pid } }: ServerProcess): number {
  try {
    const [onCpu] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
    return Number(onCpu) / 1e6;
  } catch {
    return NaN;
  }
}
