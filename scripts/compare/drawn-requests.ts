/** Requests to all HTTP APIs, drawn from a seed: good ones, and some with a mistake. */
import { Draws } from '../bench/lib/random.ts';

export interface DrawnRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

type Maker = (draw: Draw) => DrawnRequest;

const WORDS = 'the fox ran over a hill and sang 23 songs in café, then slept until 9:45'.split(' ');
const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name'],
  additionalProperties: false,
};
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } };

/** Draws of one request. */
class Draw {
  readonly #draws: Draws;

  constructor(draws: Draws) {
    this.#draws = draws;
  }

  is(probability: number): boolean {
    return this.#draws.uniform() < probability;
  }

  of<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.#draws.integer(choices.length)] ?? choices[0];
  }

  text(): string {
    const length = 1 + this.#draws.integer(30);
    return Array.from({ length }, () => this.of('a', ...WORDS)).join(' ');
  }

  numTokens(): number {
    return 1 + this.#draws.integer(12);
  }

  /** Fields that are left out half of the time. */
  some(fields: Readonly<Record<string, () => unknown>>): Record<string, unknown> {
    const chosen = Object.entries(fields).filter(() => this.is(0.4));
    return Object.fromEntries(chosen.map(([name, make]) => [name, make()]));
  }

  messages(): object[] {
    const turns = this.#draws.integer(3);
    const system = this.is(0.3) ? [{ role: 'system', content: this.text() }] : [];
    const before = Array.from({ length: turns }, () => [
      { role: 'user', content: this.text() },
      { role: 'assistant', content: this.text() },
    ]).flat();
    const content = this.is(0.3) ? [{ type: 'text', text: this.text() }] : this.text();
    return [...system, ...before, { role: 'user', content }];
  }
}

/** Temperature is always named: what holds where it is not may change between versions. */
const sampling = (draw: Draw) => ({
  temperature: draw.of(0, 0, 0.7, 1.3),
  seed: 7,
  ...draw.some({ top_p: () => draw.of(0.5, 0.95) }),
});

const openai = (draw: Draw) => ({
  ...sampling(draw),
  ...draw.some({
    stop: () => draw.of<unknown>(['a', 'the'], '\n', ['.']),
    presence_penalty: () => 0.5,
    n: () => 2,
    stream: () => true,
    user: () => 'ann',
    min_p: () => 0.1,
    top_k: () => 20,
    ignore_eos: () => true,
  }),
  ...(draw.is(0.05) ? draw.of<object>({ temperature: 9 }, { n: 'x' }, { stop: 5 }) : {}),
});

const MAKERS: readonly Maker[] = [
  (draw) => ({
    path: '/v1/chat/completions',
    body: {
      messages: draw.messages(),
      max_tokens: draw.numTokens(),
      ...openai(draw),
      ...draw.some({
        stream_options: () => ({ include_usage: true }),
        logprobs: () => true,
        response_format: () =>
          draw.of<object>(
            { type: 'json_object' },
            { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } },
          ),
      }),
    },
  }),
  (draw) => ({
    path: '/v1/chat/completions',
    body: {
      messages: draw.messages(),
      max_tokens: 24,
      ...sampling(draw),
      tools: [{ type: 'function', function: { name: 'look', parameters: PARAMETERS } }],
      tool_choice: draw.of<unknown>('auto', 'required', 'none'),
      stream: draw.is(0.5),
    },
  }),
  (draw) => ({
    path: '/v1/completions',
    body: {
      prompt: draw.of<unknown>(draw.text(), [draw.text(), draw.text()], [5, 9, 200]),
      max_tokens: draw.numTokens(),
      ...openai(draw),
      ...draw.some({ echo: () => true, logprobs: () => 2, prompt_logprobs: () => 1 }),
    },
  }),
  (draw) => ({
    path: '/v1/responses',
    body: {
      input: draw.of<unknown>(draw.text(), draw.messages()),
      max_output_tokens: 16,
      ...sampling(draw),
      ...draw.some({ instructions: () => draw.text(), stream: () => true, store: () => false }),
    },
  }),
  (draw) => ({
    path: '/v1/messages',
    body: {
      messages: [{ role: 'user', content: draw.text() }],
      max_tokens: draw.numTokens(),
      temperature: 0,
      ...draw.some({
        system: () => draw.text(),
        stream: () => true,
        stop_sequences: () => ['the'],
        tools: () => [{ name: 'look', input_schema: PARAMETERS }],
      }),
    },
  }),
  (draw) => ({
    path: '/api/chat',
    body: {
      messages: [{ role: 'user', content: draw.text() }],
      stream: draw.is(0.5),
      options: { ...OLLAMA, num_predict: draw.numTokens() },
      ...draw.some({ format: () => draw.of<unknown>('json', SCHEMA) }),
    },
  }),
  (draw) => ({
    path: '/api/generate',
    body: {
      prompt: draw.text(),
      stream: draw.is(0.5),
      options: { ...OLLAMA, num_predict: draw.numTokens() },
      ...draw.some({ raw: () => true, system: () => draw.text() }),
    },
  }),
  (draw) => ({
    path: `/v2/models/summit/${draw.of('generate', 'generate_stream')}`,
    body: {
      text_input: draw.text(),
      parameters: { max_tokens: draw.numTokens(), temperature: 0, details: draw.is(0.5) },
    },
  }),
  (draw) => ({
    path: '/v2/models/summit/infer',
    body: {
      inputs: [
        bytesTensor('text_input', draw.text()),
        bytesTensor(
          'sampling_parameters',
          JSON.stringify({ max_tokens: draw.numTokens(), temperature: 0 }),
        ),
      ],
    },
  }),
  (draw) => ({ path: '/v1/embeddings', body: { input: [draw.text(), draw.text()] } }),
  (draw) => ({
    path: '/tokenize',
    body: draw.of<Record<string, unknown>>(
      { prompt: draw.text() },
      { messages: draw.messages() },
      { prompt: 5 },
    ),
  }),
  (draw) => ({
    path: draw.of('/v1/nothing', '/v1/chat/completions', '/v1/messages', '/api/chat'),
    body: draw.of<Record<string, unknown>>(
      {},
      { messages: [] },
      { model: 'none', messages: draw.messages(), max_tokens: 1 },
    ),
  }),
];

const bytesTensor = (name: string, text: string) => ({
  name,
  shape: [1],
  datatype: 'BYTES',
  data: [text],
});

/** All that could be left to the server is named. */
const OLLAMA = { temperature: 0, top_k: 40, top_p: 0.95, min_p: 0.05, repeat_penalty: 1, seed: 7 };

/** How many come in one event depends on time. */
function withoutStreamedLogprobs({ path, body }: DrawnRequest): DrawnRequest {
  const { logprobs: _one, prompt_logprobs: _other, ...others } = body;
  return body['stream'] === true ? { path, body: others } : { path, body };
}

export function drawRequests(count: number, seed: number): readonly DrawnRequest[] {
  const draws = new Draws(seed);
  const draw = new Draw(draws);
  return Array.from({ length: count }, (_, index) => {
    const maker = MAKERS[index % MAKERS.length];
    if (maker === undefined) throw new Error('there is no API');
    return withoutStreamedLogprobs(maker(draw));
  });
}
