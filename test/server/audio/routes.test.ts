/** The routes over a model that hears what it is told to; OpenAI's client is the reference of their answers. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { AddressInfo } from 'node:net';
import { OpenAI, toFile } from 'openai';
import { pino } from 'pino';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { AudioPool } from '../../../src/front/audio/audio-pool.ts';
import { RequestRecord } from '../../../src/front/request-record.ts';
import { audioRoutes } from '../../../src/server/audio/routes.ts';
import type { ServerEnv } from '../../../src/server/context.ts';
import { DEFAULT_SERVER_CONFIG } from '../../../src/server/config.ts';
import { modelNotFound } from '../../../src/server/errors.ts';
import { BodyBudget } from '../../../src/server/http/body-budget.ts';
import { BodyReader } from '../../../src/server/http/request-body.ts';
import { UnreadAnswers } from '../../../src/server/http/unread-answers.ts';
import { toApiError } from '../../../src/server/to-api-error.ts';
import { badSounds, soundFile, wav } from '../../support/bad-sounds.ts';
import {
  type ScriptedWindow,
  ScriptedSpeech,
  SPEECH_TOKENS,
} from '../../support/scripted-speech.ts';

const SAID: readonly ScriptedWindow[] = [
  { said: [0, ' Hello,', 1.5, 1.5, ' you --> there.\n', 3] },
];
const FILE = soundFile('flac-16');
const PLAIN = { code: 1, channels: 1, rate: 16_000, align: 2, bits: 16 };
/** Shared by all tests: starting a process takes longer than most of them. */
const pool = new AudioPool();
afterAll(() => pool.close());
const logger = pino({ level: 'silent' });

interface Server {
  readonly url: string;
  readonly client: OpenAI;
  readonly model: ScriptedSpeech;
  /** Models that were let go. */
  released(): number;
}

interface Options {
  readonly said?: readonly ScriptedWindow[];
  readonly budget?: BodyBudget;
}

async function start({ said = SAID, budget = new BodyBudget() }: Options = {}): Promise<Server> {
  const model = new ScriptedSpeech(said);
  const unread = new UnreadAnswers();
  let released = 0;
  const app = new Hono<ServerEnv>();
  app.use(async (c, next) => {
    c.set('record', new RequestRecord());
    c.set('unread', unread);
    await next();
  });
  const context = {
    bodies: new BodyReader(2 ** 20, budget),
    config: { ...DEFAULT_SERVER_CONFIG, version: '1' },
    logger,
    isDraining: () => false,
  };
  audioRoutes(app, context, {
    pool,
    acquire: async (name) => {
      if (name !== undefined && name !== 'whisper') throw modelNotFound(name);
      return { model, release: () => void released++ };
    },
  });
  app.onError((error, c) => {
    const failure = toApiError(error, logger);
    return c.json(failure.toEnvelope(), failure.status, failure.headers);
  });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${port}`;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'key', maxRetries: 0 });
  return { url, client, model, released: () => released };
}

function sound(): Promise<File> {
  return toFile(FILE, 'sound.mp3');
}

async function send(
  { url }: Server,
  fields: readonly (readonly [string, string | Blob])[],
  path = 'transcriptions',
): Promise<Response> {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  return await fetch(`${url}/v1/audio/${path}`, { method: 'POST', body });
}

const withFile = (...fields: readonly (readonly [string, string])[]) =>
  [['file', new Blob([FILE])], ...fields] as const;

async function errorOf(response: Response) {
  const { error } = (await response.json()) as { error: { message: string; param: string } };
  return { status: response.status, ...error };
}

test('a file becomes a text, whatever its name says', async () => {
  const server = await start();
  const { client, model } = server;
  const made = await client.audio.transcriptions.create({ model: 'whisper', file: await sound() });
  expect(made).toEqual({
    text: 'Hello, you --> there.',
    usage: { type: 'duration', seconds: 1 },
  });
  expect(model.heard).toHaveLength(1);
  expect(model.heard[0]?.prompt).toEqual([301, 311, 302]);
  expect(server.released()).toBe(1);
});

test('verbose_json has segments, the name of the language and what the text is worth', async () => {
  const { client } = await start();
  const made = await client.audio.transcriptions.create({
    model: 'whisper',
    file: await sound(),
    response_format: 'verbose_json',
    language: 'en',
    timestamp_granularities: ['segment'],
  });
  expect(made).toMatchObject({ language: 'english', duration: 0.3, task: 'transcribe' });
  expect(made.segments?.[0]).toMatchObject({
    id: 0,
    seek: 0,
    start: 0,
    end: 1.5,
    text: ' Hello,',
    temperature: 0,
    no_speech_prob: 0,
  });
  expect(made.segments?.[0]?.avg_logprob).toBeCloseTo(-0.1);
  expect(made.segments?.[0]?.tokens.slice(0, 2)).toEqual([400, 32]);
});

test('words have times where they are asked for, with segments or without', async () => {
  const ask = async (...granularities: ('word' | 'segment')[]) => {
    const { client } = await start();
    return client.audio.transcriptions.create({
      model: 'whisper',
      file: await sound(),
      response_format: 'verbose_json',
      timestamp_granularities: granularities,
    });
  };
  const { words, segments } = await ask('word');
  expect(words?.slice(0, 2)).toEqual([
    { word: 'Hello,', start: 0.1, end: 0.8 },
    { word: 'you', start: 1, end: 1.4 },
  ]);
  expect(segments).toBeUndefined();
  const both = await ask('word', 'segment');
  expect(both.words).toEqual(words);
  expect(both.segments).toHaveLength(2);
  expect((await ask('segment')).words).toBeUndefined();
});

test('a model that does not tell when words were said is not asked', async () => {
  const server = await start();
  server.model.aligns = false;
  const fields = [
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'word'],
  ] as const;
  expect(await errorOf(await send(server, withFile(...fields)))).toMatchObject({
    status: 400,
    param: 'timestamp_granularities',
    message: expect.stringContaining('alignment_heads'),
  });
  expect(server.model.heard).toEqual([]);
});

test.each([
  ['text', 'Hello, you --> there.\n', 'text/plain; charset=utf-8'],
  [
    'srt',
    '1\n00:00:00,000 --> 00:00:01,500\nHello,\n\n2\n00:00:01,500 --> 00:00:03,000\nyou -> there.\n\n',
    'application/x-subrip; charset=utf-8',
  ],
  [
    'vtt',
    'WEBVTT\n\n00:00.000 --> 00:01.500\nHello,\n\n00:01.500 --> 00:03.000\nyou -> there.\n\n',
    'text/vtt; charset=utf-8',
  ],
] as const)('as %s', async (format, expected, mediaType) => {
  const server = await start();
  const response = await send(server, withFile(['response_format', format]));
  expect(await response.text()).toBe(expected);
  expect(response.headers.get('content-type')).toBe(mediaType);
});

test('a stream has a delta for each segment, which are the text together', async () => {
  const { client } = await start();
  const stream = await client.audio.transcriptions.create({
    model: 'whisper',
    file: await sound(),
    stream: true,
  });
  const events: unknown[] = [];
  for await (const event of stream) events.push(event);
  expect(events).toEqual([
    { type: 'transcript.text.delta', delta: 'Hello,' },
    { type: 'transcript.text.delta', delta: ' you --> there.' },
    { type: 'transcript.text.done', text: 'Hello, you --> there.' },
  ]);
});

test('a failure in a stream is its last event', async () => {
  const server = await start();
  server.model.transcribeWindow = () => {
    throw new Error('secret');
  };
  const response = await send(server, withFile(['stream', 'true']));
  expect(response.status).toBe(200);
  const text = await response.text();
  expect(text).toContain('"type":"server_error"');
  expect(text).not.toContain('secret');
});

test('a translation asks for one', async () => {
  const { client, model } = await start();
  const made = await client.audio.translations.create({
    model: 'whisper',
    file: await sound(),
    prompt: 'x',
  });
  expect(made.text).toBe('Hello, you --> there.');
  expect(model.heard[0]?.prompt).toEqual([304, 32, 120, 301, 311, 303]);
});

test('a model of English alone does not translate, and knows no German', async () => {
  const server = await start();
  server.model.tokens = {
    ...SPEECH_TOKENS,
    languages: new Map(),
    translate: null,
    transcribe: null,
  };
  const translated = await send(server, withFile(), 'translations');
  expect(await errorOf(translated)).toMatchObject({ status: 400, param: 'model' });
  const german = await send(server, withFile(['language', 'german']));
  expect(await errorOf(german)).toMatchObject({ status: 400, param: 'language' });
  expect((await send(server, withFile(['language', 'English']))).status).toBe(200);
});

test.each([
  ['response_format', 'diarized_json', /expected `json`/],
  ['temperature', '1.5', /temperature/],
  ['temperature', 'warm', /temperature/],
  ['language', 'tlh', /ISO-639-1/],
  ['stream', 'perhaps', /expected `true` or `false`/],
  ['timestamp_granularities[]', 'word', /in `response_format` `verbose_json` alone/],
  ['timestamp_granularities[]', 'letter', /expected `segment` or `word`/],
  ['include[]', 'logprobs', /`include` is not supported/],
  ['hotwords', 'Chairlift', /`prompt` may have such words/],
  ['prompt', 'p'.repeat(5000), /`prompt`/],
  ['prompt', 'p'.repeat(20_000), /at most 16384 bytes/],
  ['seed', '1', /`seed` is not supported/],
])('%s of %.20s is refused by name', async (name, value, says) => {
  const server = await start();
  const found = await errorOf(await send(server, withFile([name, value])));
  expect(found.status).toBe(400);
  expect(found.message).toMatch(says);
  expect(server.model.heard).toEqual([]);
});

test('fields that change nothing, or are empty, pass', async () => {
  const server = await start();
  const fields = [
    ['language', ''],
    ['chunking_strategy', 'auto'],
    ['timestamp_granularities[0]', 'segment'],
    ['timestamp_granularities[1]', ''],
    ['user', 'me'],
    ['top_p', '1.0'],
  ] as const;
  expect((await send(server, withFile(...fields))).status).toBe(200);
});

test('forms that are none are refused', async () => {
  const server = await start();
  const url = `${server.url}/v1/audio/transcriptions`;
  const json = await fetch(url, { method: 'POST', body: '{}' });
  expect(json.status).toBe(415);
  const none = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: '--x\r\n',
  });
  expect((await errorOf(none)).status).toBe(400);
  expect(await errorOf(await send(server, [['model', 'whisper']]))).toMatchObject({
    status: 400,
    param: 'file',
  });
  const other = await send(server, withFile(['model', 'gpt']));
  expect(other.status).toBe(404);
  const page = await fetch(url, { method: 'POST', headers: { origin: 'http://evil.example' } });
  expect(page.status).toBe(403);
});

test('more than 25 MB is 413, and more than a client may have 429', async () => {
  const budget = new BodyBudget(2 ** 30, 27 * 2 ** 20);
  const server = await start({ budget });
  const large = await send(server, [['file', new Blob([Buffer.alloc(26 * 2 ** 20)])]]);
  expect(large.status).toBe(413);
  const full = await start({ budget: new BodyBudget(2 ** 30, 1000) });
  expect((await send(full, withFile())).status).toBe(429);
  // All was given back.
  budget.charge('', 27 * 2 ** 20);
});

test('what is no sound is a 400 that says so, and the model is let go', async () => {
  const server = await start();
  const quick = badSounds().filter(({ name }) => !/hours|25 MB/.test(name));
  for (const { name, file, says } of quick) {
    const found = await errorOf(await send(server, [['file', new Blob([Uint8Array.from(file)])]]));
    expect(found, name).toMatchObject({ status: 400, code: 'invalid_audio', param: 'file' });
    expect(found.message, name).toMatch(says);
  }
  expect(server.released()).toBe(quick.length);
  expect(server.model.heard).toEqual([]);
});

test('silence is an empty text', async () => {
  const server = await start();
  const silent = new Blob([Uint8Array.from(wav(PLAIN, Buffer.alloc(32_000)))]);
  const response = await send(server, [['file', silent]]);
  expect(await response.json()).toEqual({ text: '', usage: { type: 'duration', seconds: 1 } });
  expect(server.model.heard).toEqual([]);
});
