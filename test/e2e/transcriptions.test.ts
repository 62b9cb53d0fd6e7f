/** A model that hears, in a real server: the texts of Transformers, from a file of sound on. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { OpenAI, toFile } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { post } from '../support/http-client.ts';
import { childrenOf } from '../support/processes.ts';
import { runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/speech/spoken', import.meta.url));

const referenceSchema = z.object({
  sounds: z.array(z.base64().transform((text) => Buffer.from(text, 'base64'))),
  transcripts: z.array(
    z.object({
      sound: z.int(),
      given: z.string().nullable(),
      task: z.enum(['transcribe', 'translate']),
      language: z.string(),
      text: z.string(),
      segments: z.array(
        z.object({
          start: z.number(),
          end: z.number(),
          text: z.string(),
          tokens: z.array(z.int()),
        }),
      ),
    }),
  ),
});
const reference = referenceSchema.parse(
  JSON.parse(await readFile(`${FOLDER}/reference.json`, 'utf8')),
);
type Transcript = (typeof reference.transcripts)[number];

const words = z.array(z.object({ word: z.string(), start: z.number(), end: z.number() }));

const NAMES: Readonly<Record<string, string>> = { en: 'english', de: 'german' };
const ROUTES = { transcribe: 'transcriptions', translate: 'translations' } as const;
/** Drawn as greedily, but tried once: random weights never make a text that is no guess. */
const ONCE = '0.000001';

const cache = await temporaryCache();
let server: ServerProcess;
let client: OpenAI;

beforeAll(async () => {
  const flags = ['--precision', 'fp32', '--kernels', 'onnxruntime', '--served-model-name', 'ears'];
  server = await startServer(['--model', FOLDER, ...flags], cache.env);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'key', maxRetries: 0 });
});
afterAll(async () => {
  await server.stop();
  await cache.remove();
});

function send(
  { sound, given, task }: Pick<Transcript, 'sound' | 'given' | 'task'>,
  fields: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const body = new FormData();
  body.append('file', new Blob([reference.sounds[sound] ?? '']), 'sound.wav');
  const all = { model: 'ears', temperature: ONCE, ...(given && { language: given }), ...fields };
  for (const [name, value] of Object.entries(all)) body.append(name, value);
  const url = `${server.url}/v1/audio/${ROUTES[task]}`;
  return fetch(url, { method: 'POST', body, ...(signal && { signal }) });
}

async function errorOf(response: Response) {
  const { error } = (await response.json()) as { error: { message: string; param: string } };
  return { status: response.status, ...error };
}

test.each(reference.transcripts)('hears what Transformers hears: $text', async (transcript) => {
  const response = await send(transcript, { response_format: 'verbose_json' });
  const { language, text, task, segments } = transcript;
  expect(await response.json()).toMatchObject({
    task,
    language: NAMES[language],
    duration: 0.48,
    text,
    segments,
  });
  // Nobody named a model: it is the one that hears.
  const unnamed = await send(transcript, { model: '', response_format: 'text' });
  expect(await unnamed.text()).toBe(`${text}\n`);
});

test("OpenAI's client has texts, subtitles and streams", async () => {
  const [first] = reference.transcripts;
  const sound = () => toFile(reference.sounds[0] ?? Buffer.of(), 'sound.wav');
  const asked = { model: 'ears', language: 'en', temperature: Number(ONCE) };
  const made = await client.audio.transcriptions.create({ ...asked, file: await sound() });
  expect(made.text).toBe(first?.text);
  const srt = await client.audio.transcriptions.create({
    ...asked,
    file: await sound(),
    response_format: 'srt',
  });
  expect(srt).toBe(`1\n00:00:00,000 --> 00:00:00,480\n${first?.text}\n\n`);
  const vtt = await client.audio.transcriptions.create({
    ...asked,
    file: await sound(),
    response_format: 'vtt',
  });
  expect(vtt).toBe(`WEBVTT\n\n00:00.000 --> 00:00.480\n${first?.text}\n\n`);
  const stream = await client.audio.transcriptions.create({
    ...asked,
    file: await sound(),
    stream: true,
  });
  const events: unknown[] = [];
  for await (const event of stream) events.push(event);
  expect(events).toEqual([
    { type: 'transcript.text.delta', delta: first?.text },
    { type: 'transcript.text.done', text: first?.text },
  ]);
});

test("words have times, from a process that the first of them starts, and a killed one's successor", async () => {
  const [first] = reference.transcripts;
  if (first === undefined) throw new Error('there are no transcripts');
  const fields = { response_format: 'verbose_json', 'timestamp_granularities[]': 'word' };
  const before = childrenOf(server.child.pid);
  const ask = async () => (await send(first, fields)).json();
  const made = z.object({ words }).parse(await ask());
  expect(made.words.map(({ word }) => word).join('')).toBe(first.text.replaceAll(' ', ''));
  const times = made.words.flatMap(({ start, end }) => [start, end]);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(times.at(-1)).toBeLessThanOrEqual(0.48);
  expect(new Set(times).size).toBeGreaterThan(1);
  const [aligner, ...others] = childrenOf(server.child.pid).filter((pid) => !before.includes(pid));
  expect(others).toEqual([]);
  process.kill(aligner ?? 0, 'SIGKILL');
  expect(await ask()).toMatchObject(made);
});

test('it is listed as what it is, and writes nothing else', async () => {
  const { data } = await client.models.list();
  expect(data).toMatchObject([{ id: 'ears', capabilities: ['transcription'] }]);
  const only = 'writes what it hears, and nothing else';
  const bodies = [{ prompt: 'a' }, { prompt: 'a', use_beam_search: true, n: 2, temperature: 0 }];
  for (const body of bodies) {
    const found = await errorOf(await post(`${server.url}/v1/completions`, body));
    expect(found).toMatchObject({ status: 400, message: expect.stringContaining(only) });
  }
  const chat = { messages: [{ role: 'user', content: 'Hi' }] };
  const refused = await errorOf(await post(`${server.url}/v1/chat/completions`, chat));
  expect(refused.status).toBe(400);
  const unknown = await errorOf(
    await send({ sound: 0, given: 'en', task: 'transcribe' }, { model: 'x' }),
  );
  expect(unknown.status).toBe(404);
  const french = await errorOf(await send({ sound: 0, given: 'fr', task: 'transcribe' }));
  expect(french).toMatchObject({ status: 400, param: 'language' });
});

test('several clients are heard at once, one that leaves and a killed engine harm none', async () => {
  const leaving = new AbortController();
  const gone = reference.transcripts.map((each) =>
    send(each, { temperature: '0' }, leaving.signal),
  );
  const texts = reference.transcripts.map(async (each) => {
    return (await send(each, { response_format: 'text' })).text();
  });
  leaving.abort();
  for (const end of await Promise.allSettled(gone)) expect(end.status).toBe('rejected');
  // Engine, encoder and those that read sound.
  for (const pid of childrenOf(server.child.pid)) process.kill(pid, 'SIGKILL');
  const expected = reference.transcripts.map(({ text }) => `${text}\n`);
  expect(await Promise.all(texts)).toEqual(expected);
});

test.each([
  ['--kv-cache-dtype int8', ['--kv-cache-dtype', 'int8']],
  ['--draft-model', ['--draft-model', FOLDER]],
  ['--lora-modules or --lora-dir', ['--lora-modules', 'a=b']],
])('%s is refused by name', async (flag, flags) => {
  const ended = await runToEnd(['serve', '--model', FOLDER, '--port', '0', ...flags], cache.env);
  expect(ended.code).toBe(2);
  expect(ended.output).toContain(`${flag} is not for a model that hears`);
});
