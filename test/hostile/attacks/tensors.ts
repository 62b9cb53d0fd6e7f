/** Tensors, vectors and messages that are not what they say. */
import { connect, constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const INFER = '/v2/models/summit/infer';
/** Port for gRPC of the attacked server, which nobody tells; the one for HTTP is any free one. */
const GRPC_PORT = 46_871;
const GRPC = [`--grpc-port=${GRPC_PORT}`];
const METHOD = '/inference.GRPCInferenceService/ModelInfer';

const text = (shape: readonly unknown[], data: unknown = ['Hi']) => ({
  inputs: [{ name: 'text_input', datatype: 'BYTES', shape, data }],
});

const LYING: readonly object[] = [
  text([2 ** 53 - 1]),
  text([2 ** 53]),
  text([2 ** 31, 2 ** 31]),
  text([-1]),
  text([1.5]),
  text([1e308]),
  text(Array.from({ length: 9 }, () => 1)),
  text([0]),
  text([1], [[[[['Hi', 'Ho']]]]]),
  text([1], [1]),
  { inputs: Array.from({ length: 65 }, () => text([1]).inputs[0]) },
  { inputs: [{ name: 'text_input', datatype: 'INT64', shape: [1], data: [1] }] },
  { inputs: [{ name: 'text_input', datatype: '__proto__', shape: [1], data: [1] }] },
  {
    inputs: [
      {
        name: 'text_input',
        datatype: 'BYTES',
        shape: [1],
        parameters: { binary_data_size: 2 ** 53 - 1 },
      },
    ],
  },
];

const EMBEDDINGS = '/v1/embeddings';

async function expectRefused(
  client: Client,
  path: string,
  bodies: readonly object[],
): Promise<string[]> {
  const breaches: string[] = [];
  for (const body of bodies) {
    const answer = await client.send(path, { body });
    if (answer.status === 400) continue;
    breaches.push(`${JSON.stringify(body).slice(0, 120)} answered ${answer.status}`);
  }
  return breaches;
}

export const attacks: readonly Attack[] = [
  {
    name: 'tensors whose shapes lie, 14 ways, 20 times each',
    async run({ attacker }) {
      const breaches: string[] = [];
      for (let round = 0; round < 20; round++) {
        breaches.push(...(await expectRefused(attacker, INFER, LYING)));
      }
      return breaches;
    },
  },
  {
    name: 'token ids and dimensions outside of the model',
    async run({ attacker }) {
      return expectRefused(attacker, EMBEDDINGS, [
        { input: [[2 ** 31 - 1]] },
        { input: [[4096]] },
        { input: [[2 ** 53 - 1]] },
        { input: [[-1]] },
        { input: 'Hi', dimensions: 2 ** 53 - 1 },
        { input: 'Hi', prompt_name: '__proto__' },
        { input: [] },
        { input: Array.from({ length: 2049 }, () => 'a') },
      ]);
    },
  },
  {
    name: '2,048 long embeddings, given up after a second, three times',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker }) {
      const input = Array.from({ length: 2048 }, (_, at) => `${at} the fox ran `.repeat(120));
      for (let round = 0; round < 3; round++) {
        await attacker.try(EMBEDDINGS, { body: { input }, signal: AbortSignal.timeout(1000) });
      }
    },
  },
  {
    name: '2,048 documents for one query, ten times at once',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker }) {
      const documents = Array.from({ length: 2048 }, (_, at) => `document ${at}`);
      const body = { query: 'Where is the fox?', documents };
      const signal = AbortSignal.timeout(8000);
      await Promise.all(
        Array.from({ length: 10 }, () => attacker.try('/v1/rerank', { body, signal })),
      );
    },
  },
  {
    name: 'bodies that are small as gzip and large as text',
    async run({ attacker }) {
      const bomb = gzipSync(Buffer.alloc(256 * 2 ** 20, ' '));
      const breaches: string[] = [];
      for (const path of [INFER, EMBEDDINGS, '/v1/completions', '/api/chat']) {
        const status = await sendRaw(attacker, path, bomb, { 'content-encoding': 'gzip' });
        if (status < 400 || status >= 500) breaches.push(`${path} answered ${status}`);
      }
      return breaches;
    },
  },
  {
    name: 'the same over gRPC, 20 at once',
    flags: GRPC,
    async run() {
      const bomb = gzipSync(Buffer.alloc(512 * 2 ** 20));
      const calls = Array.from({ length: 20 }, () => call(framed(bomb, true), { gzip: true }));
      return refusals(await Promise.all(calls));
    },
  },
  {
    name: 'gRPC messages of nothing but nesting, and of millions of parts',
    flags: GRPC,
    async run() {
      // Field 1 as a group that holds another one, and so on; as a text; as an empty input.
      const groups = Buffer.alloc(4 * 2 ** 20, 0x0b);
      const texts = Buffer.alloc(4 * 2 ** 20, Buffer.of(0x0a, 0));
      const inputs = Buffer.alloc(4 * 2 ** 20, Buffer.of(0x2a, 0));
      const answers: string[] = [];
      for (const message of [groups, texts, inputs]) answers.push(await call(framed(message)));
      return refusals(answers);
    },
  },
  {
    name: 'gRPC messages that come byte by byte',
    flags: [...GRPC, '--receive-timeout=4'],
    async run() {
      const calls = Array.from({ length: 64 }, () =>
        call(framed(Buffer.alloc(1000)), { slow: true }),
      );
      return refusals(await Promise.all(calls));
    },
  },
];

/** @returns the status; 0 where the connection was cut */
async function sendRaw(
  client: Client,
  path: string,
  body: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const socket = await client.connect();
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1')));
    socket.once('close', () => resolve(''));
  });
  const type = { 'content-type': 'application/json', 'content-length': body.length };
  socket.write(`${client.head('POST', path, { ...type, ...headers })}\r\n`);
  socket.write(body);
  const status = Number((await answered).slice(9, 12));
  socket.destroy();
  return status;
}

function framed(message: Buffer, isCompressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** One call over a connection of its own. @returns its `grpc-status`; empty where there was none */
async function call(
  message: Buffer,
  { gzip = false, slow = false }: { readonly gzip?: boolean; readonly slow?: boolean } = {},
): Promise<string> {
  const session = connect(`http://127.0.0.1:${GRPC_PORT}`);
  session.on('error', () => {});
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: METHOD,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(gzip ? { 'grpc-encoding': 'gzip' } : {}),
  });
  const answer = { status: '' };
  const note = ({ 'grpc-status': status }: Readonly<Record<string, unknown>>): void => {
    if (typeof status === 'string') answer.status = status;
  };
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  stream
    .on('response', note)
    .on('trailers', note)
    .on('error', () => {})
    .resume();
  if (slow) {
    // Told of its end, it has nothing to send any more.
    for (let at = 0; at < message.length && !stream.closed && answer.status === ''; at++) {
      stream.write(message.subarray(at, at + 1));
      await sleep(250);
    }
  } else {
    stream.end(message);
  }
  await Promise.race([closed, sleep(20_000)]);
  session.destroy();
  return answer.status;
}

/** Faults among the answers: each that is no refusal, so OK, an internal error, or nothing. */
function refusals(statuses: readonly string[]): readonly string[] {
  const isFault = (status: string) => ['', '0', '2', '13'].includes(status);
  return statuses.filter(isFault).map((status) => `a call ended with "${status}"`);
}
