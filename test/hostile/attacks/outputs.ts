/** Answers that are much larger than what asks for them, or much more work to write than to compute. */
import { mkdirSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GraphBuilder } from '../../../src/onnx/graph-builder.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const INFER = '/v2/models/tensors/infer';
const MIB = 2 ** 20;

/** A model of text for the victim, and one of tensors: `same` [n] is `x`, `out` as long as `count` says. */
function withTensors(folder: string): readonly string[] {
  const graph = new GraphBuilder('tensors');
  graph.input('x', 'float', ['n']);
  graph.input('count', 'int64', [1]);
  graph.initializer('value', 'float', [1], Float32Array.of(1 / 3));
  graph.node('same', 'Identity', ['x']);
  graph.node('out', 'Expand', ['value', 'count']);
  graph.output('same', 'float', ['n']);
  graph.output('out', 'float', ['m']);
  const path = join(folder, 'tensors');
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'model.onnx'), graph.toBytes());
  return ['--model', 'summit=models/summit', '--model', `tensors=${path}`];
}

interface Asked {
  /** Elements of `x`. */
  readonly given: number;
  readonly count: number;
  readonly output: 'same' | 'out';
  readonly isBinary: boolean;
}

/** Asks over a connection, which is closed with the answer. */
function say(socket: Socket, client: Client, { given, count, output, isBinary }: Asked): void {
  const x = Buffer.from(Float32Array.from({ length: given }, (_, at) => at / 7).buffer);
  const head = Buffer.from(
    JSON.stringify({
      inputs: [
        {
          name: 'x',
          datatype: 'FP32',
          shape: [given],
          parameters: { binary_data_size: x.length },
        },
        { name: 'count', datatype: 'INT64', shape: [1], data: [count] },
      ],
      outputs: [{ name: output, parameters: { binary_data: isBinary } }],
    }),
  );
  const headers = {
    'content-type': 'application/octet-stream',
    'content-length': head.length + x.length,
    'inference-header-content-length': head.length,
    connection: 'close',
  };
  socket.write(`${client.head('POST', INFER, headers)}\r\n`);
  socket.write(head);
  socket.write(x);
}

/** @returns the status, and how many bytes were answered; 0 where the connection was cut */
async function infer(client: Client, asked: Asked) {
  const socket = await client.connect();
  const answered = new Promise<{ status: number; bytes: number }>((resolve) => {
    let [first, bytes] = ['', 0];
    socket.on('data', (data: Buffer) => {
      if (bytes === 0) first = data.toString('latin1', 0, 12);
      bytes += data.length;
    });
    socket.once('close', () => resolve({ status: Number(first.slice(9, 12)), bytes }));
  });
  say(socket, client, asked);
  return await answered;
}

/** So many at once, which must all be answered by this status. */
async function expectAll(client: Client, number: number, asked: Asked, status: number) {
  const answers = await Promise.all(Array.from({ length: number }, () => infer(client, asked)));
  return answers.flatMap((answer) =>
    answer.status === status ? [] : [`${JSON.stringify(asked)} answered ${answer.status}`],
  );
}

/** Connections that each ask, and never read what comes. */
async function neverRead(client: Client, number: number, asked: Asked): Promise<void> {
  const sockets: Socket[] = [];
  for (let index = 0; index < number; index++) {
    const socket = await client.connect().catch(() => null);
    if (socket === null) continue;
    sockets.push(socket.pause());
    say(socket, client, asked);
  }
  await sleep(5000);
  for (const socket of sockets) socket.destroy();
}

const texts = (length: number) => Array.from({ length }, (_, at) => `${at}`);

export const attacks: readonly Attack[] = [
  {
    name: '8 MiB of numbers in binary, answered as JSON, six at once',
    flags: withTensors,
    hasKeys: true,
    async run({ attacker }) {
      const asked = { count: 1, output: 'same', isBinary: false } as const;
      return [
        ...(await expectAll(attacker, 6, { ...asked, given: 2 * MIB - 256 }, 400)),
        // As many as are answered.
        ...(await expectAll(attacker, 6, { ...asked, given: MIB }, 200)),
      ];
    },
  },
  {
    name: '64 MiB of output for 200 bytes, six at once, as binary and as JSON',
    flags: withTensors,
    hasKeys: true,
    async run({ attacker }) {
      const asked = { given: 1, count: 16 * MIB, output: 'out' } as const;
      return [
        ...(await expectAll(attacker, 6, { ...asked, isBinary: true }, 200)),
        ...(await expectAll(attacker, 6, { ...asked, isBinary: false }, 400)),
      ];
    },
  },
  {
    name: '1 GiB of output for 200 bytes, ten times',
    flags: withTensors,
    hasKeys: true,
    async run({ attacker }) {
      const asked = { given: 1, count: 256 * MIB, output: 'out', isBinary: true } as const;
      const breaches = await expectAll(attacker, 10, asked, 400);
      return [...breaches, ...(await expectAll(attacker, 1, { ...asked, count: 1 }, 200))];
    },
  },
  {
    name: '64 answers of 64 MiB that nobody reads, of one key',
    flags: withTensors,
    hasKeys: true,
    async run({ attacker }) {
      await neverRead(attacker, 64, { given: 1, count: 16 * MIB, output: 'out', isBinary: true });
    },
  },
  {
    name: 'vectors of 512 texts as JSON, from Ollama and OpenAI at once',
    hasKeys: true,
    async run({ attacker }) {
      const input = texts(512);
      await Promise.all([
        attacker.try('/v1/embeddings', { body: { input } }),
        attacker.try('/api/embed', { body: { model: 'summit', input } }),
      ]);
    },
  },
  {
    name: 'vectors that are wanted only if stored, in every API',
    hasKeys: true,
    async run({ attacker }) {
      const headers = { 'cache-control': 'only-if-cached' };
      const breaches: string[] = [];
      for (const [path, body] of [
        ['/v1/embeddings', { input: texts(2048) }],
        ['/embed', { inputs: texts(2048) }],
        ['/api/embed', { model: 'summit', input: texts(2048) }],
        ['/v1/score', { queries: 'a', documents: texts(2048) }],
      ] as const) {
        const { status } = await attacker.send(path, { body, headers });
        if (status !== 504) breaches.push(`${path} answered ${status}`);
      }
      return breaches;
    },
  },
];
