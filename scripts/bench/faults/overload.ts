/**
 * 500 requests at once with a queue limit of 64: how many complete, how fast the others are turned
 * away (as this client sees it on the same cores, and by the server's log, from the request's arrival
 * to its answer); then a second client's single request during another's flood of 200.
 *
 *   npm run build && npx tsx scripts/bench/faults/overload.ts [--json]
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stream } from '../../../test/support/http-client.ts';
import { machineShape } from '../lib/machine.ts';
import { percentile } from '../lib/random.ts';
import { startServer } from '../../../test/support/server-process.ts';
import { printTable } from '../lib/table.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const body = { prompt: 'Once upon a time', max_tokens: 64, ignore_eos: true, temperature: 0 };

/**
 * Over connections that are open already, so that it is not this client's work of opening them that
 * is timed; milliseconds from the first request's sending to each answer's first byte.
 */
async function burst(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: 500 }, async () => {
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      return socket;
    }),
  );
  const json = JSON.stringify(body);
  const head = [
    'POST /v1/completions HTTP/1.1',
    `host: ${hostname}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(json)}`,
  ];
  const start = performance.now();
  const pending = sockets.map(async (socket) => {
    const firstByte = once(socket, 'data').then(() => performance.now() - start);
    const answer = text(socket);
    socket.write(`${head.join('\r\n')}\r\n\r\n${json}`);
    const [ms, received] = await Promise.all([firstByte, answer]);
    return {
      ms,
      status: received.slice(9, 12),
      hasRetryAfter: /^retry-after: [1-9]/im.test(received),
    };
  });
  const answers = await Promise.all(pending);
  const refused = answers.filter(({ status }) => status === '429');
  const refusedMs = refused.map(({ ms }) => ms);
  return {
    completed: answers.filter(({ status }) => status === '200').length,
    refused: refused.length,
    refusedWithRetryAfter: refused.filter(({ hasRetryAfter }) => hasRetryAfter).length,
    refusedP50Ms: percentile(refusedMs, 0.5),
    refusedMaxMs: Math.max(...refusedMs),
  };
}

async function fairness(url: string) {
  const timed = async (user: string) => {
    const start = performance.now();
    await stream(`${url}/v1/completions`, { ...body, user });
    return performance.now() - start;
  };
  const flood = Array.from({ length: 200 }, () => timed('flood'));
  // Let the flood fill rows and queue.
  await sleep(300);
  const single = await timed('single');
  const all = await Promise.all(flood);
  return { singleMs: single, floodP50Ms: percentile(all, 0.5), floodMaxMs: Math.max(...all) };
}

/** Milliseconds from a request's arrival to its 429, as logged. */
function refusalsByLog(output: string): number[] {
  return output.split('\n').flatMap((line) => {
    if (!line.includes('"status":429')) return [];
    return [(JSON.parse(line) as { durationMs: number }).durationMs];
  });
}

const server = await startServer([
  NO_DRAFTS,
  '--max-num-seqs=16',
  '--max-queue=64',
  '--log-level=info',
]);
await stream(`${server.url}/v1/completions`, body);
const bursts = await burst(server.url);
const refusalMs = refusalsByLog(server.output());
await server.stop();
const roomy = await startServer([NO_DRAFTS, '--max-num-seqs=16', '--max-queue=256']);
await stream(`${roomy.url}/v1/completions`, body);
// A request's time while the server is full: what the single one is compared with.
const loaded = Array.from({ length: 16 }, async () => {
  const start = performance.now();
  await stream(`${roomy.url}/v1/completions`, body);
  return performance.now() - start;
});
const requestMs = percentile(await Promise.all(loaded), 0.5);
const fair = await fairness(roomy.url);
await roomy.stop();

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), bursts, refusalMs, requestMs, fair }));
} else {
  console.log(`${machineShape()}; summit, 16 rows\n`);
  printTable(
    [
      'completed',
      'refused',
      'with Retry-After',
      'seen p50, ms',
      'max',
      'in the server p50, ms',
      'max',
    ],
    [
      [
        String(bursts.completed),
        String(bursts.refused),
        String(bursts.refusedWithRetryAfter),
        bursts.refusedP50Ms.toFixed(0),
        bursts.refusedMaxMs.toFixed(0),
        percentile(refusalMs, 0.5).toFixed(0),
        Math.max(...refusalMs).toFixed(0),
      ],
    ],
  );
  console.log();
  printTable(
    [
      'a request in a full batch, ms',
      "single during another's 200, ms",
      'in requests',
      'flood p50, ms',
      'flood max, ms',
    ],
    [
      [
        requestMs.toFixed(0),
        fair.singleMs.toFixed(0),
        (fair.singleMs / requestMs).toFixed(2),
        fair.floodP50Ms.toFixed(0),
        fair.floodMaxMs.toFixed(0),
      ],
    ],
  );
}
