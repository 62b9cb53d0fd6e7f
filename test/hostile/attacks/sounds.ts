/** Sounds for a model that hears: bombs, broken files, uploads that stall and that are given up. */
import { mkdtempSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { badSounds, soundFile } from '../../support/bad-sounds.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const SUMMIT = new URL('../../../models/summit', import.meta.url).pathname;
const WHISPER = new URL('../../fixtures/speech/spoken', import.meta.url).pathname;
/** After the text model by name: the victim's text is of the first. */
const HEARING = 'z-hearing';
const EDGE = 'the-edge';
const PATIENCE_MS = 25_000;

function withHearing(folder: string): readonly string[] {
  const repository = mkdtempSync(join(folder, 'sounds-'));
  symlinkSync(SUMMIT, join(repository, 'summit'));
  symlinkSync(WHISPER, join(repository, HEARING));
  return [`--model-repository=${repository}`, '--model-control=auto'];
}

const TIMED = [
  ['response_format', 'verbose_json'],
  ['timestamp_granularities[]', 'word'],
] as const;

function form(file: Buffer, fields: readonly (readonly [string, string])[]): Buffer {
  const part = (head: string, value: Buffer) => [
    Buffer.from(`--${EDGE}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
    value,
    Buffer.from('\r\n'),
  ];
  return Buffer.concat([
    ...part('name="model"', Buffer.from(HEARING)),
    ...fields.flatMap(([name, value]) => part(`name="${name}"`, Buffer.from(value))),
    ...part('name="file"; filename="a.wav"', file),
    Buffer.from(`--${EDGE}--\r\n`),
  ]);
}

interface UploadOptions {
  /** Bytes of the form that are sent. */
  readonly sent?: number;
  /** Besides model and file. */
  readonly fields?: readonly (readonly [string, string])[];
  readonly leavesAfterMs?: number;
}

/** Sends a form, or its beginning. @returns the status; 0 where none came */
async function upload(
  client: Client,
  file: Buffer,
  { sent = Infinity, fields = [], leavesAfterMs = PATIENCE_MS }: UploadOptions = {},
): Promise<number> {
  const body = form(file, fields);
  const socket = await client.connect();
  const head = [
    'POST /v1/audio/transcriptions HTTP/1.1',
    'host: 127.0.0.1',
    'connection: close',
    `content-type: multipart/form-data; boundary=${EDGE}`,
    `content-length: ${body.length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.write(body.subarray(0, Math.min(sent, body.length)));
  const answer = new Promise<number>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(Number(data.toString('latin1').slice(9, 12))));
    socket.once('close', () => resolve(0));
  });
  const status = await Promise.race([answer, wait(leavesAfterMs, 0, { ref: false })]);
  socket.destroy();
  return status;
}

const SOUND = soundFile('flac-16');

/** 60 sounds at once. @returns those that were answered with another status */
async function uploadMany(
  client: Client,
  expected: readonly number[],
  optionsOf: (index: number) => UploadOptions,
): Promise<string[]> {
  const all = Array.from({ length: 60 }, (_, index) => upload(client, SOUND, optionsOf(index)));
  const odd = (await Promise.all(all)).filter((status) => !expected.includes(status));
  return odd.map((status) => `a sound answered ${status}`);
}

export const attacks: readonly Attack[] = [
  {
    name: 'files that are no sounds, broken ones, and hours of silence in some kB',
    flags: withHearing,
    swapsModels: true,
    maxWaitMs: 5000,
    async run({ attacker }) {
      const breaches: string[] = [];
      for (const { name, file } of badSounds()) {
        const status = await upload(attacker, file);
        if (status !== 400 && status !== 413) breaches.push(`${name} answered ${status}`);
      }
      return breaches;
    },
  },
  {
    name: '60 sounds at once, half of them given up or never sent to their end',
    flags: withHearing,
    swapsModels: true,
    maxWaitMs: 5000,
    async run({ attacker }) {
      return await uploadMany(attacker, [0, 200, 400, 408, 429], (index) => {
        return { sent: index % 2 === 0 ? Infinity : 200 };
      });
    },
  },
  {
    name: "60 sounds whose words' times are wanted, half of them given up once they are heard",
    flags: withHearing,
    swapsModels: true,
    maxWaitMs: 5000,
    async run({ attacker }) {
      const breaches = await uploadMany(attacker, [0, 200, 408, 429], (index) => {
        return { fields: TIMED, leavesAfterMs: index % 2 === 0 ? PATIENCE_MS : 20 * index };
      });
      const odd = await upload(attacker, SOUND, {
        fields: [...TIMED, ['timestamp_granularities[]', 'w'.repeat(5000)]],
      });
      return odd === 400 ? breaches : [...breaches, `an odd field answered ${odd}`];
    },
  },
];
