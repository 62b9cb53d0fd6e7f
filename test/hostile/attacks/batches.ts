/** Files and batches, of others and too many. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import { BOUNDARY, FORM, form, upload } from '../support/batch-file.ts';
import type { Answer, Client } from '../support/client.ts';
import { toldApart, type Try } from '../support/told-apart.ts';

const inFolder = (folder: string): readonly string[] => ['--batch-dir', join(folder, 'batches')];

const PATH = '/v1/completions';

/** Clients whose rate is used up with the first line. */
const STALLED = 8;
const keyOf = (at: number): string => `key-of-stalled-${at}`;

interface Made {
  readonly id: string;
}

function startBatch(client: Client, fileId: string, endpoint = PATH): Promise<Answer> {
  const body = { input_file_id: fileId, endpoint, completion_window: '24h' };
  return client.send('/v1/batches', { body });
}

function lines(count: number, maxTokens: number): string {
  const line = (at: number) =>
    JSON.stringify({
      custom_id: `line ${at}`,
      method: 'POST',
      url: PATH,
      body: { prompt: 'Once upon a time', max_tokens: maxTokens, ignore_eos: true },
    });
  return Array.from({ length: count }, (_, at) => line(at)).join('\n');
}

async function idOf(answer: Promise<Answer>): Promise<string> {
  const { status, text } = await answer;
  if (status !== 200) throw new Error(`${status} ${text}`);
  return (JSON.parse(text) as Made).id;
}

/** The batch as it stands when it has ended. */
async function ended(client: Client, id: string, maxTries = 100): Promise<string> {
  for (let tries = 0; tries < maxTries; tries++) {
    const { text } = await client.send(`/v1/batches/${id}`);
    if (/"status":"(completed|failed|expired|cancelled)"/.test(text)) return text;
    await sleep(100);
  }
  return 'it has not ended';
}

export const attacks: readonly Attack[] = [
  {
    name: "reads, runs, cancels and deletes another key's file and batch",
    flags: inFolder,
    hasKeys: true,
    async run({ attacker, victim }) {
      const fileId = await idOf(upload(victim, lines(20, 100)));
      const batchId = await idOf(startBatch(victim, fileId));
      const tries = (file: string, batch: string): readonly Try[] => [
        ['GET', `/v1/files/${file}`],
        ['GET', `/v1/files/${file}/content`],
        ['GET', `/v1/batches/${batch}`],
        ['POST', `/v1/batches/${batch}/cancel`],
        ['POST', '/v1/batches', { input_file_id: file, endpoint: PATH, completion_window: '24h' }],
        ['DELETE', `/v1/files/${file}`],
      ];
      const never = (id: string) => id.slice(0, -4) + (id.endsWith('0000') ? '1111' : '0000');
      const invented = tries(never(fileId), never(batchId));
      const neutral = (text: string) =>
        text.replaceAll(/(file|batch)[-_][\w-]+/g, 'ID').replaceAll(/"created_at":\d+/g, '');
      const breaches = await toldApart(attacker, tries(fileId, batchId), invented, neutral);
      for (const path of ['/v1/files', '/v1/batches']) {
        const { text } = await attacker.send(path);
        if (text.includes(fileId) || text.includes(batchId)) breaches.push(`${path} lists it`);
      }
      const end = await ended(victim, batchId);
      if (!end.includes('"completed":20'))
        breaches.push(`the victim's batch: ${end.slice(0, 200)}`);
      return breaches;
    },
  },
  {
    name: '200 uploads that never end',
    flags: inFolder,
    hasKeys: true,
    async run({ attacker, victim }) {
      const head = attacker.head('POST', '/v1/files', { ...FORM, 'content-length': 2 ** 27 });
      const begin = form('').slice(0, -(BOUNDARY.length + 10));
      const sockets = await Promise.all(
        Array.from({ length: 200 }, async () => {
          const socket = await attacker.connect();
          socket.write(`${head}\r\n${begin}`);
          return socket;
        }),
      );
      await sleep(500);
      const { status, text } = await upload(victim, lines(1, 1));
      for (const socket of sockets) socket.destroy();
      return status === 200 ? [] : [`the victim's upload got ${status} ${text}`];
    },
  },
  {
    name: 'fills the disk that batches may have',
    flags: (folder) => [...inFolder(folder), '--batch-disk=16m'],
    hasKeys: true,
    async run({ attacker, victim }) {
      const content = 'x'.repeat(2 ** 20);
      // Refused before they are sent whole.
      for (let count = 0; count < 30; count++) await upload(attacker, content).catch(() => {});
      const { status, text } = await upload(victim, 'y'.repeat(2 ** 20));
      return status === 200 ? [] : [`the victim's upload got ${status} ${text}`];
    },
  },
  {
    name: '120 batches of 400 lines next to the victim',
    flags: inFolder,
    hasKeys: true,
    maxWaitMs: 2000,
    async run({ attacker, victim }) {
      const fileId = await idOf(upload(attacker, lines(400, 64)));
      const ids: string[] = [];
      for (let count = 0; count < 120; count++) {
        const { status, text } = await startBatch(attacker, fileId);
        if (status === 200) ids.push((JSON.parse(text) as Made).id);
        else if (status !== 429) return [`a batch got ${status} ${text}`];
      }
      const own = await idOf(startBatch(victim, await idOf(upload(victim, lines(4, 8)))));
      const end = await ended(victim, own);
      await Promise.all(
        ids.map((id) => attacker.try(`/v1/batches/${id}/cancel`, { method: 'POST' })),
      );
      const isDone = end.includes('"completed":4');
      return isDone ? [] : [`the victim's batch of 4 lines, of 120 others': ${end.slice(0, 200)}`];
    },
  },
  {
    name: '100 lines of 256 texts for /v1/embeddings, and 100 responses to be kept, next to the victim',
    flags: (folder) => [...inFolder(folder), '--response-store-size=1m'],
    hasKeys: true,
    maxWaitMs: 2000,
    async run({ attacker, victim }) {
      const kept = await victim.send('/v1/responses', { body: { input: 'Hi' } });
      const input = Array.from({ length: 256 }, (_, at) => `Text ${at} `.repeat(20));
      const bodies = {
        '/v1/embeddings': { input },
        '/v1/responses': { input: 'x'.repeat(2000), store: true, max_output_tokens: 16 },
      };
      const ids: string[] = [];
      for (const [url, body] of Object.entries(bodies)) {
        const line = (at: number) =>
          JSON.stringify({ custom_id: `${at}`, method: 'POST', url, body });
        const content = Array.from({ length: 100 }, (_, at) => line(at)).join('\n');
        const fileId = await idOf(upload(attacker, content));
        ids.push(await idOf(startBatch(attacker, fileId, url)));
      }
      await sleep(10_000);
      for (const id of ids) {
        const { text } = await attacker.send(`/v1/batches/${id}/cancel`, { method: 'POST' });
        if (!/"status":"(cancelling|completed)"/.test(text)) return [text.slice(0, 200)];
      }
      const still = await victim.send(`/v1/responses/${(JSON.parse(kept.text) as Made).id}`);
      return still.status === 200 ? [] : [`the victim's response is gone: ${still.status}`];
    },
  },
  {
    name: 'lines that are no requests, or other routes, or deep, or long; names that are paths',
    flags: inFolder,
    async run({ attacker }) {
      const breaches: string[] = [];
      const other = (url: string) =>
        JSON.stringify({ custom_id: url, method: 'POST', url, body: { model: 'summit' } });
      const contents = {
        deep: `{"custom_id":"a","method":"POST","url":"${PATH}","body":${'['.repeat(500_000)}}`,
        long: `{"custom_id":"${'x'.repeat(3 * 2 ** 20)}"}`,
        'no JSON': '\0\n{\n}}}\n',
        'other routes': ['/models/unload', '/admin/state', '/v1/files'].map(other).join('\n'),
        'the same id twice': `${lines(1, 1)}\n${lines(1, 1)}`,
        'a million empty lines': '\n'.repeat(1_000_000),
      };
      for (const [name, content] of Object.entries(contents)) {
        const file = await upload(attacker, content, '../../../escaped.jsonl');
        if (file.status === 400) continue;
        const end = await ended(
          attacker,
          await idOf(startBatch(attacker, (JSON.parse(file.text) as Made).id)),
        );
        if (!end.includes('"status":"failed"')) breaches.push(`${name}: ${end.slice(0, 300)}`);
      }
      return breaches;
    },
  },
  {
    name: 'a file of 64 MiB of line breaks',
    flags: inFolder,
    hasKeys: true,
    async run({ attacker }) {
      const id = await idOf(
        startBatch(attacker, await idOf(upload(attacker, '\n'.repeat(2 ** 26)))),
      );
      const end = await ended(attacker, id);
      return end.includes('too_many_empty_lines') ? [] : [end.slice(0, 300)];
    },
  },
  {
    name: 'batches of eight keys whose lines only wait, before the ninth',
    flags(folder) {
      const file = join(folder, 'stalled-keys');
      const keys = Array.from(
        { length: STALLED },
        (_, at) => `stalled${at} ${keyOf(at)} tokens=1\n`,
      );
      writeFileSync(file, keys.join(''));
      return [...inFolder(folder), `--api-key-file=${file}`];
    },
    hasKeys: true,
    async run({ attacker, victim }) {
      for (let at = 0; at < STALLED; at++) {
        const headers = { authorization: `Bearer ${keyOf(at)}` };
        const content = form(lines(100, 50));
        const file = await attacker.send('/v1/files', {
          body: content,
          headers: { ...FORM, ...headers },
        });
        const { id } = JSON.parse(file.text) as Made;
        const body = { input_file_id: id, endpoint: PATH, completion_window: '24h' };
        const { status, text } = await attacker.send('/v1/batches', { body, headers });
        if (status !== 200) return [`a batch got ${status} ${text}`];
      }
      await sleep(2000);
      const own = await idOf(startBatch(victim, await idOf(upload(victim, lines(4, 8)))));
      const end = await ended(victim, own, 400);
      const isDone = end.includes('"completed":4');
      return isDone ? [] : [`the victim's batch of 4 lines: ${end.slice(0, 200)}`];
    },
  },
];
