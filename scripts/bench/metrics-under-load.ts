/**
 * How long scrapes of a running server take while it serves streams, next to a probe, which costs
 * HTTP alone: `npx tsx scripts/bench/metrics-under-load.ts http://127.0.0.1:8000 [streams] [seconds]`.
 */
import { get } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { percentile } from '../../src/bench/statistics.ts';

const [address = 'http://127.0.0.1:8000', numStreams = '32', seconds = '20'] =
  process.argv.slice(2);
const SCRAPES_PER_SECOND = 20;

let numTokens = 0;

/** One stream after the other. */
async function stream(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const response = await fetch(`${address}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        prompt: 'Once upon a time',
        max_tokens: 500,
        ignore_eos: true,
        stream: true,
      }),
    });
    for await (const chunk of response.body ?? []) {
      numTokens += Buffer.from(chunk).toString().split('data: {').length - 1;
      if (signal.aborted) break;
    }
  }
}

/** Milliseconds from asking to the last byte. */
function timeOf(path: string): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const request = get(`${address}${path}`, { agent: false }, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedAt));
    });
    request.on('error', reject);
  });
}

/** @returns sorted */
async function ask(path: string): Promise<number[]> {
  const times: number[] = [];
  const until = performance.now() + Number(seconds) * 1000;
  const pending: Promise<void>[] = [];
  while (performance.now() < until) {
    pending.push(timeOf(path).then((ms) => void times.push(ms)));
    await setTimeout(1000 / SCRAPES_PER_SECOND);
  }
  await Promise.all(pending);
  return times.sort((a, b) => a - b);
}

for (const streams of [0, Number(numStreams)]) {
  const ending = new AbortController();
  const running = Array.from({ length: streams }, () => stream(ending.signal));
  await setTimeout(1000);
  for (const path of ['/livez', '/metrics']) {
    numTokens = 0;
    const times = await ask(path);
    const [p50, p99] = [50, 99].map((p) => `${percentile(times, p).toFixed(2)} ms`);
    const rate = (numTokens / Number(seconds)).toFixed(0);
    console.log(
      `${streams} streams, ${rate} tokens/s: ${path} ${times.length} times, p50 ${p50}, p99 ${p99}`,
    );
  }
  ending.abort();
  await Promise.all(running);
}
