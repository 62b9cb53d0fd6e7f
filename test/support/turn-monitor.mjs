/**
 * To be preloaded into a server that is given a message channel: tells the longest turn of its event
 * loop, by the CPU time of the thread that the loop runs on. Other work on the machine makes a turn no
 * longer by that clock. Each message to it is answered by the longest turn, in milliseconds, since the
 * one before; the first one begins the watch, which keeps the loop turning.
 */
import koffi from 'koffi';
import { isMainThread } from 'node:worker_threads';

/** CLOCK_THREAD_CPUTIME_ID of Linux. */
const THREAD_CPU = 3;

// Threads and processes take over what their process preloads.
if (isMainThread && process.channel && /cli\/main\.(ts|js)$/.test(process.argv[1] ?? '')) {
  const clock = koffi.load('libc.so.6').func('int clock_gettime(int, _Out_ int64_t *)');
  const time = new BigInt64Array(2);
  const cpuMs = () => {
    clock(THREAD_CPU, time);
    return Number(time[0]) * 1e3 + Number(time[1]) / 1e6;
  };
  let longest = 0;
  let since = NaN;
  const turn = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - since);
    since = now;
    setImmediate(turn);
  };
  process.on('message', () => {
    process.send?.(longest);
    const isFirst = Number.isNaN(since);
    // Nor does the message count.
    since = cpuMs();
    longest = 0;
    if (isFirst) turn();
  });
  process.channel.unref();
}
