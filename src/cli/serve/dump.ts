/** SIGUSR2: what a server is at, and all that its front has in memory, in files of their own. */
import { createWriteStream } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { getHeapSnapshot } from 'node:v8';
import type { ServerContext } from '../../server/context.ts';
import { serverState } from '../../server/operating/server-state.ts';

/** For the eyes of its owner alone: a heap has texts of requests in it. */
const MODE = 0o600;

/** The front stands still while it takes the heap: about a second for each 100 MB. */
export function onDumpSignal(context: ServerContext): void {
  if (process.platform === 'win32') return;
  const { logger } = context;
  let isBusy = false;
  process.on('SIGUSR2', () => {
    if (isBusy) return;
    isBusy = true;
    dump(context)
      .then(
        (folder) =>
          logger.warn({ folder }, 'state and heap are written; the heap holds texts of requests'),
        (error: unknown) => logger.error({ err: error }, 'state and heap could not be written'),
      )
      .finally(() => (isBusy = false));
  });
}

/** @returns the folder that the files are in */
async function dump(context: ServerContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-dump-'));
  const state = JSON.stringify(serverState(context), null, 2);
  await writeFile(join(folder, 'state.json'), state, { mode: MODE });
  const heap = createWriteStream(join(folder, 'front.heapsnapshot'), { mode: MODE });
  await pipeline(getHeapSnapshot(), heap);
  return folder;
}
