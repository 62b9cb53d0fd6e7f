/**
 * Ends this process when the one that started it ends, even while native code or JavaScript keeps
 * its event loop busy. Loaded before the module of every process that `forkModule` starts.
 */
import { isMainThread } from 'node:worker_threads';
import { startThread } from './start-thread.ts';

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

// Threads load what their process loads first.
if (isMainThread) {
  // A terminal sends these to every process of the group, but the parent decides when this one ends.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});
  // Not part of this module's URL, which packed code does not have (scripts/lambda/pack-code.ts).
  const parent = Number(process.argv[2]);
  const isWatched = await killedBySystem();
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  if (!isWatched) startThread(new URL('./watch-parent.js', import.meta.url), parent).unref();
}

/** Asks Linux to kill this process when its parent ends. @returns whether it will */
async function killedBySystem(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    const { default: koffi } = await import('koffi');
    const prctl = koffi.load(null).func('int prctl(int option, unsigned long value)');
    return prctl(PR_SET_PDEATHSIG, SIGKILL) === 0;
  } catch {
    // Where koffi can't be loaded, such a process is what finds out (`chairlift doctor`).
    return false;
  }
}
