import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A cache of built models that goes away: `env` points a command at it. */
export async function temporaryCache() {
  const path = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
  return {
    path,
    env: { CHAIRLIFT_CACHE: path },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}
