/** Plain HTTP clients for the tests, and readers for what they get. */
import { createParser } from 'eventsource-parser';
import { expect } from 'vitest';
import { z } from 'zod';

export interface Target {
  readonly url: string;
}

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** @param body sent as it is when a string or a stream, which goes out chunked, else as JSON. */
export function post(
  server: Target,
  path: string,
  body: object | string | ReadableStream,
  { headers = {}, signal }: PostOptions = {},
): Promise<Response> {
  const isRaw = typeof body === 'string' || body instanceof ReadableStream;
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    body: isRaw ? body : JSON.stringify(body),
    duplex: 'half',
    headers: { 'content-type': 'application/json', ...headers },
    ...(signal === undefined ? {} : { signal }),
  });
}

const envelope = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string().min(1),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/** The error of `response`, which must be an envelope, small, and without anything of the server's. */
export async function errorOf(response: Response, status: number) {
  const text = await response.text();
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(text.length).toBeLessThan(32_000);
  expect(text).not.toMatch(/node_modules|\.ts\b|\bat .*:\d+:\d+/);
  const { error } = envelope.parse(JSON.parse(text));
  expect({ status: response.status, error }).toMatchObject({ status });
  return error;
}

const usage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  prompt_tokens_details: z.object({ cached_tokens: z.number() }).optional(),
  completion_tokens_details: z.object({ reasoning_tokens: z.number() }).optional(),
});

export const choice = z.looseObject({
  index: z.number(),
  finish_reason: z.string().nullable(),
  stop_reason: z.union([z.string(), z.number()]).nullish(),
  text: z.string().optional(),
  delta: z.looseObject({ role: z.string().optional(), content: z.string().optional() }).optional(),
  message: z.looseObject({ role: z.string(), content: z.string() }).optional(),
  token_ids: z.array(z.number()).optional(),
  prompt_token_ids: z.array(z.number()).optional(),
});

export const answer = z.looseObject({
  id: z.string(),
  object: z.string(),
  created: z.number(),
  model: z.string(),
  choices: z.array(choice),
  usage: usage.nullish(),
  prompt_token_ids: z.array(z.number()).optional(),
});

export type Answer = z.infer<typeof answer>;

/** The whole answer of a request that must succeed. */
export async function answerOf(response: Response): Promise<Answer> {
  const json: unknown = await response.json();
  expect({ status: response.status, json }).toMatchObject({ status: 200 });
  return answer.parse(json);
}

/** The `data` of every event of a finished stream. */
export async function eventsOf(response: Response): Promise<string[]> {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const events: string[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event.data) });
  parser.feed(await response.text());
  return events;
}

/** The chunks of a stream that must end with `[DONE]`. */
export async function chunksOf(response: Response): Promise<Answer[]> {
  const events = await eventsOf(response);
  expect(events.at(-1)).toBe('[DONE]');
  return events.slice(0, -1).map((event) => answer.parse(JSON.parse(event)));
}

/** The text that the chunks' first choices add up to. */
export function textOf(chunks: readonly Answer[]): string {
  return chunks.map(({ choices }) => choices[0]?.text ?? choices[0]?.delta?.content ?? '').join('');
}
