/** Frames, and requests over one socket. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';
import { copies, frame, OPCODES, pour, rawSocket } from '../support/raw-frames.ts';

const PATHS = ['/v1/chat/completions', '/v1/completions', '/v1/responses'];
const POUR_MS = 10_000;

async function pourInto(attacker: Client, path: string, bytes: Buffer): Promise<void> {
  const socket = await rawSocket(attacker, path);
  await pour(socket, bytes, POUR_MS);
  await sleep(1000);
  socket.destroy();
}

export const attacks: readonly Attack[] = [
  {
    name: '100,000 frames `{}`',
    async run({ attacker }) {
      await pourInto(attacker, '/v1/chat/completions', copies(frame('{}'), 100_000));
    },
  },
  {
    name: '4 MB of frames of one letter',
    async run({ attacker }) {
      await pourInto(attacker, '/v1/chat/completions', copies(frame('x'), 600_000));
    },
  },
  {
    name: '100,000 bad frames into each kind of socket at once, four of each',
    async run({ attacker }) {
      const bytes = copies(frame('{}'), 100_000);
      const sockets = PATHS.flatMap((path) => [path, path, path, path]);
      await Promise.all(sockets.map((path) => pourInto(attacker, path, bytes)));
    },
  },
  {
    name: '100,000 pings, binary frames, and frames of nothing, into each kind of socket',
    async run({ attacker }) {
      const kinds = [
        copies(frame('', { opcode: OPCODES.ping }), 100_000),
        copies(frame('x', { opcode: OPCODES.binary }), 100_000),
        copies(frame(''), 100_000),
      ];
      const pours = PATHS.flatMap((path) => kinds.map((bytes) => pourInto(attacker, path, bytes)));
      await Promise.all(pours);
    },
  },
  {
    name: 'a message of a million parts, never ended',
    async run({ attacker }) {
      const first = frame('{', { isLast: false });
      const part = frame(' ', { isLast: false, opcode: OPCODES.continuation });
      const bytes = Buffer.concat([first, copies(part, 1e6)]);
      await pourInto(attacker, '/v1/chat/completions', bytes);
    },
  },
  {
    name: '200,000 cancels of ids that are not there',
    async run({ attacker }) {
      const bytes = copies(frame('{"request_id":"a","type":"cancel"}'), 200_000);
      await pourInto(attacker, '/v1/chat/completions', bytes);
    },
  },
  {
    name: '20,000 requests at once over one socket',
    async run({ attacker }) {
      const frames = Array.from({ length: 20_000 }, (_, index) =>
        frame(JSON.stringify({ request_id: `r${index}`, prompt: 'Hi', max_tokens: 8 })),
      );
      await pourInto(attacker, '/v1/completions', Buffer.concat(frames));
    },
  },
  {
    name: '15 sockets with 8 MB of `[` each, three at a time',
    async run({ attacker }) {
      const text = '['.repeat(8e6);
      for (let count = 0; count < 5; count++) {
        const sockets = await Promise.all(PATHS.map((path) => attacker.socket(path)));
        for (const socket of sockets) socket.send(text);
        await sleep(200);
        for (const socket of sockets) socket.terminate();
      }
    },
  },
  {
    name: 'a chain of 24 turns over /v1/responses, 7 MB each, none stored',
    async run({ attacker }) {
      const socket = await attacker.socket('/v1/responses');
      // Thoughts are not in the prompt: such a conversation always fits the model.
      const content = [{ type: 'reasoning_text', text: 'x'.repeat(7e6) }];
      const input = [
        { type: 'reasoning', content },
        { role: 'user', content: 'Hi' },
      ];
      let previous: string | null = null;
      for (let turn = 0; turn < 24 && socket.readyState === socket.OPEN; turn++) {
        const create = { type: 'response.create', input, generate: false, store: false };
        socket.send(JSON.stringify({ ...create, previous_response_id: previous }));
        const answer = await Promise.race([lastEvent(socket), once(socket, 'close'), sleep(5000)]);
        if (typeof answer !== 'string') break;
        previous = /"id":"(resp_\w+)"/.exec(answer)?.[1] ?? null;
        if (previous === null) break;
      }
      socket.terminate();
    },
  },
  {
    name: 'a socket that reads nothing of 200 answers',
    async run({ attacker }) {
      const frames = Array.from({ length: 200 }, (_, index) =>
        frame(
          JSON.stringify({
            request_id: `r${index}`,
            prompt: 'Once upon a time',
            max_tokens: 100,
            ignore_eos: true,
            logprobs: 20,
            stream: true,
          }),
        ),
      );
      const socket = await rawSocket(attacker, '/v1/completions');
      socket.pause();
      await pour(socket, Buffer.concat(frames), POUR_MS);
      await sleep(10_000);
      socket.destroy();
    },
  },
  {
    name: '500 sockets at once, opened and left alone',
    async run({ attacker }) {
      const opened = Array.from({ length: 500 }, (_, index) =>
        rawSocket(attacker, PATHS[index % PATHS.length] ?? '').catch(() => null),
      );
      const sockets = await Promise.race([Promise.all(opened), sleep(10_000, [])]);
      await sleep(2000);
      for (const socket of sockets) socket?.destroy();
    },
  },
];

/** The event that ends a response, or an error. */
function lastEvent(socket: Awaited<ReturnType<Client['socket']>>): Promise<string> {
  return new Promise((resolve) => {
    const listen = (data: Buffer): void => {
      const text = data.toString('utf8', 0, 2000);
      if (!/"type":"(response\.completed|error)"/.test(text)) return;
      socket.off('message', listen);
      resolve(text);
    };
    socket.on('message', listen);
  });
}
