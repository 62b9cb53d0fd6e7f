/** The server under test, known by its address alone. */
import { createParser } from 'eventsource-parser';
import { expect } from 'vitest';
import { z } from 'zod';

const models = z.looseObject({
  data: z.array(z.looseObject({ id: z.string(), max_model_len: z.number().optional() })).min(1),
});

const usage = z.looseObject({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }).nullish(),
});

const chatLogprobs = z.looseObject({
  content: z.array(
    z.looseObject({
      token: z.string(),
      bytes: z.array(z.number()).nullable(),
      logprob: z.number(),
      top_logprobs: z.array(z.looseObject({ token: z.string(), logprob: z.number() })),
    }),
  ),
});

const completionLogprobs = z.looseObject({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  text_offset: z.array(z.number()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullable(),
});

const choice = z.looseObject({
  index: z.number(),
  text: z.string().optional(),
  message: z.looseObject({ role: z.string(), content: z.string().nullable() }).optional(),
  delta: z.looseObject({ role: z.string().nullish(), content: z.string().nullish() }).optional(),
  finish_reason: z.string().nullable(),
  stop_reason: z.union([z.string(), z.number()]).nullish(),
  logprobs: z.union([chatLogprobs, completionLogprobs]).nullish(),
  token_ids: z.array(z.number()).nullish(),
});

const answer = z.looseObject({
  id: z.string(),
  object: z.string(),
  created: z.number(),
  model: z.string(),
  choices: z.array(choice),
  usage: usage.nullish(),
});

export type Answer = z.infer<typeof answer>;
export type Choice = z.infer<typeof choice>;

const envelope = z.looseObject({
  error: z.looseObject({
    message: z.string().min(1),
    type: z.string(),
    param: z.string().nullable(),
    code: z.union([z.string(), z.number()]).nullable(),
  }),
});

export interface Streamed {
  /** All events but `[DONE]`. */
  readonly events: readonly unknown[];
  readonly isDone: boolean;
}

export const USER = { role: 'user', content: 'What is 23 + 45?' };
export const CHAT = '/v1/chat/completions';
export const COMPLETIONS = '/v1/completions';

export class Target {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;
  #model = '';
  #maxModelLen = 2048;

  /** @param url without a path; @param key of the API, if it needs one */
  constructor(url: string, key?: string) {
    this.url = url.replace(/\/$/, '');
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  /** Asks what is served. To be called before all else. */
  async connect(): Promise<this> {
    const [model] = models.parse(await (await this.get('/v1/models')).json()).data;
    this.#model = model?.id ?? '';
    this.#maxModelLen = model?.max_model_len ?? this.#maxModelLen;
    return this;
  }

  get model(): string {
    return this.#model;
  }

  /** Longest prompt plus output, in tokens. */
  get maxModelLen(): number {
    return this.#maxModelLen;
  }

  get(path: string): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers: this.#headers });
  }

  /** @param body gets the model's name unless it has one; a string is sent as it is. */
  post(path: string, body: object | string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.#headers },
      body: typeof body === 'string' ? body : JSON.stringify({ model: this.model, ...body }),
      ...init,
    });
  }

  /** The answer of a request that must succeed. */
  async answer(path: string, body: object): Promise<Answer> {
    const response = await this.post(path, body);
    const json: unknown = await response.json();
    expect({ status: response.status, json }).toMatchObject({ status: 200 });
    return answer.parse(json);
  }

  /** The only choice of an answer. */
  async choice(path: string, body: object): Promise<Choice> {
    const { choices } = await this.answer(path, body);
    expect(choices).toHaveLength(1);
    return first(choices);
  }

  async chunks(path: string, body: object): Promise<Answer[]> {
    const { events, isDone } = await this.stream(path, body);
    expect(isDone).toBe(true);
    return events.map((event) => answer.parse(event));
  }

  async stream(path: string, body: object): Promise<Streamed> {
    const response = await this.post(path, { ...body, stream: true });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const data: string[] = [];
    const parser = createParser({ onEvent: (event) => data.push(event.data) });
    parser.feed(await response.text());
    const isDone = data.at(-1) === '[DONE]';
    const events = isDone ? data.slice(0, -1) : data;
    return { events: events.map((event): unknown => JSON.parse(event)), isDone };
  }

  /** The error of a request that must fail with `status`. */
  async refusal(path: string, body: object | string, status: number) {
    return errorOf(await this.post(path, body), status);
  }

  /** That the server still answers. */
  async expectServing(): Promise<void> {
    const { text } = await this.choice(COMPLETIONS, { prompt: 'Hello', max_tokens: 4 });
    expect(text).toBeTypeOf('string');
  }
}

/** Size and content are those of assertion 2, and hold for every error. */
export async function errorOf(response: Response, status: number) {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status });
  expect(text.length).toBeLessThan(32_000);
  expect(text).not.toMatch(
    /node_modules|site-packages|\.(ts|js|py|cpp)\b|Traceback|\/(home|usr|opt|work|root)\//,
  );
  return envelope.parse(JSON.parse(text)).error;
}

export function errorIn(event: unknown) {
  return envelope.safeParse(event).data?.error;
}

export function first<T>(items: readonly T[]): T {
  const [item] = items;
  if (item === undefined) throw new Error('the list is empty');
  return item;
}

/** The text that the chunks' choices of one index add up to. */
export function textOf(chunks: readonly Answer[], index = 0): string {
  return chunks
    .flatMap(({ choices }) => choices.filter((item) => item.index === index))
    .map((item) => item.text ?? item.delta?.content ?? '')
    .join('');
}

export function chatLogprobsOf({ logprobs }: Choice) {
  return chatLogprobs.parse(logprobs).content;
}

export function completionLogprobsOf({ logprobs }: Choice) {
  return completionLogprobs.parse(logprobs);
}
