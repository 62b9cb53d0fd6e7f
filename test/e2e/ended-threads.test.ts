/** Threads that are ended while they start, as by the unload of a model that was just loaded. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const SCRIPT = `
  const { startThreadPool } = await import('./dist/threads/thread-pool.js');
  const entry = new URL('./dist/front/prompts/prompt-worker.js', 'file://' + process.cwd() + '/');
  for (let time = 0; time < 120; time++) {
    const pool = startThreadPool({ entry, workerData: {}, maxThreads: 1, heapMb: 256 });
    await new Promise((resolve) => setTimeout(resolve, 20 + (time % 60) * 2));
    await pool.destroy();
  }
  console.log('survived');
`;

test('the process survives them', async () => {
  const args = ['--input-type=module', '--eval', SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe('survived\n');
});
