/** Requests of every kind, which between them reach what the front does for clients. */
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import { WebSocket } from 'ws';
import { Health } from '../../../../src/grpc/proto/health_pb.ts';
import { GRPCInferenceService } from '../../../../src/grpc/proto/inference_pb.ts';
import { ServerReflection } from '../../../../src/grpc/proto/reflection_pb.ts';
import { bytesInput, flagInput } from '../../../grpc/support/requests.ts';
import { duplex, newClient, serverStream, unary } from '../../../grpc/support/grpc-client.ts';
import { KEYS } from '../attack.ts';

/** Time within which a request must have ended, whatever is thrown. */
const PATIENCE_MS = Number(process.env['CHAIRLIFT_THROWS_PATIENCE_MS'] ?? 10_000);

export const ADMIN_KEY = 'key-of-the-operator';

export interface Target {
  readonly url: string;
  readonly grpcPort: number;
}

/** Thrown where a request has not ended in time. */
export class Hang extends Error {}

export interface Asked {
  readonly method?: string;
  /** JSON, unless it is a text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
  /** Leaves after the first piece of the answer. */
  readonly leaves?: boolean;
}

/** @returns the status, 0 where the connection was closed, and what was answered. @throws Hang */
export async function ask({ url }: Pick<Target, 'url'>, path: string, asked: Asked = {}) {
  const { body, headers = {}, key = KEYS.victim, leaves = false } = asked;
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  const sent = request(new URL(path, url), {
    // A connection of its own: one that an error has closed concerns no other request.
    agent: false,
    method: asked.method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${key}`,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  const answered = async () => {
    try {
      sent.end(payload);
      const [response] = await once(sent, 'response');
      if (leaves) await once(response, 'data');
      return { status: response.statusCode as number, text: leaves ? '' : await text(response) };
    } catch {
      return { status: 0, text: '' };
    }
  };
  try {
    return await inTime(answered(), path);
  } finally {
    sent.destroy();
  }
}

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  const timer = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Hang(`${what} has not ended`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}

type Scenario = (target: Target) => Promise<unknown>;

const chat = (content: string, more: object = {}) => ({
  messages: [{ role: 'user', content }],
  max_tokens: 6,
  ...more,
});
const QUESTION = 'What is 23 + 45?';
/** Rendered and tokenized in a thread. */
const LONG = 'All that is long enough is made in a thread. '.repeat(20);

const post =
  (path: string, body: unknown, more: Asked = {}): Scenario =>
  (target) =>
    ask(target, path, { body, ...more });
const get =
  (path: string, more: Asked = {}): Scenario =>
  (target) =>
    ask(target, path, more);

const GENERATING: Readonly<Record<string, object>> = {
  '/v1/chat/completions': chat(QUESTION),
  '/v1/completions': { prompt: 'Once upon a time', max_tokens: 6 },
  '/v1/responses': { input: QUESTION, max_output_tokens: 16 },
  '/v1/messages': chat(QUESTION),
  '/api/chat': { ...chat(QUESTION), options: { num_predict: 6 } },
  '/api/generate': { prompt: QUESTION, options: { num_predict: 6 } },
};

const TOOLS = [
  {
    type: 'function',
    function: { name: 'weather', parameters: { type: 'object', properties: {} } },
  },
];

/** Chats whose settings lead elsewhere. */
const CHATS: Readonly<Record<string, object>> = {
  'a long prompt': chat(LONG),
  choices: chat(QUESTION, { n: 2, stream: true, logprobs: true, top_logprobs: 2 }),
  'a schema': chat(QUESTION, { response_format: { type: 'json_object' } }),
  'a bad schema': chat(QUESTION, { structured_outputs: { regex: '(' } }),
  tools: chat(QUESTION, { tools: TOOLS, tool_choice: 'required', stream: true }),
  'stop strings': chat(QUESTION, { stop: ['e', 'a'], stream: true, max_tokens: 16 }),
  usage: chat(QUESTION, { stream: true, stream_options: { include_usage: true } }),
  'an answer that is kept': chat(QUESTION, { temperature: 0 }),
  'a bad field': chat(QUESTION, { temperature: 9 }),
  'an unknown model': chat(QUESTION, { model: 'nothing' }),
};

const PLAIN: readonly (readonly [path: string, body: unknown])[] = [
  ['/v1/responses/input_tokens', { input: QUESTION }],
  ['/v1/messages/count_tokens', chat(QUESTION)],
  ['/v1/embeddings', { input: ['A bird sings.', 'It rains.'] }],
  ['/v1/rerank', { query: 'Who sings?', documents: ['A bird sings.', 'It rains.'] }],
  ['/score', { queries: 'Who sings?', documents: ['A bird sings.'] }],
  ['/embed', { inputs: 'A bird sings.' }],
  ['/api/embed', { input: ['A bird sings.'] }],
  ['/api/show', { model: 'summit' }],
  ['/v1/chat/completions/render', chat(QUESTION)],
  ['/v1/prefetch', chat(QUESTION)],
  ['/tokenize', { prompt: LONG, return_token_strs: true }],
  ['/tokenize', { prompt: 'Hello' }],
  ['/detokenize', { tokens: [73, 74] }],
  ['/v1/load_lora_adapter', { lora_name: 'none', lora_path: 'none' }],
  ['/v2/models/summit/generate', { text_input: 'Hi', parameters: { max_tokens: 4 } }],
  ['/v2/models/summit/generate_stream', { text_input: 'Hi', parameters: { max_tokens: 4 } }],
  ['/v2/repository/index', {}],
  ['/v1/chat/completions', 'no JSON'],
  ['/v1/chat/completions', `${JSON.stringify(chat(QUESTION))}${' '.repeat(100_000)}`],
  ['/nowhere', {}],
];

const OPERATORS = [
  ...['/metrics', '/admin/state', '/admin/status', '/admin/config', '/slots', '/v1/usage'],
  ...['/v1/requests', '/admin/log-level', '/openapi.json', '/docs', '/', '/v1/models', '/api/tags'],
  ...['/api/ps', '/v2', '/v2/models/summit', '/v2/models/summit/config', '/v2/models/stats'],
  ...['/v2/health/ready', '/readyz', '/health', '/lora-adapters', '/tokenizer_info', '/v1/files'],
];

const INFER = {
  inputs: [
    { name: 'text_input', datatype: 'BYTES', shape: [1], data: ['Hi'] },
    { name: 'sampling_parameters', datatype: 'BYTES', shape: [1], data: ['{"max_tokens":4}'] },
  ],
};

const inferMessage = (stream: boolean) => ({
  modelName: 'summit',
  inputs: [
    bytesInput('text_input', 'Hi'),
    bytesInput('sampling_parameters', '{"max_tokens":4}'),
    flagInput('stream', stream),
  ],
});

const CREDENTIALS = { metadata: { authorization: `Bearer ${KEYS.victim}` } };

/** A call's failure is an end like any other. */
async function call(
  target: Target,
  make: (client: ReturnType<typeof newClient>) => Promise<unknown>,
) {
  const client = newClient(target.grpcPort);
  try {
    await inTime(
      make(client).catch(() => {}),
      'the call',
    );
  } finally {
    client.close();
  }
}

function unaryCall<M extends DescMethod>(
  method: M,
  message: MessageInitShape<M['input']>,
): Scenario {
  return (target) => call(target, (client) => unary(client, method, message, CREDENTIALS));
}

/** Sends frames, and reads until the last has been answered. */
function socket(
  path: string,
  frames: readonly unknown[],
  isLast: (text: string) => boolean,
): Scenario {
  return async ({ url }) => {
    const opened = new WebSocket(new URL(path, url.replace('http', 'ws')), {
      headers: { authorization: `Bearer ${KEYS.victim}` },
    });
    const closed = new Promise<void>((resolve) => {
      opened.on('close', resolve).on('error', resolve);
    });
    const answered = new Promise<void>((resolve) => {
      opened.on('message', (data: Buffer) => isLast(data.toString()) && resolve());
    });
    opened.on('open', () => {
      for (const frame of frames) opened.send(JSON.stringify(frame));
    });
    try {
      await inTime(Promise.race([closed, answered]), `the WebSocket of ${path}`);
      opened.close();
      await inTime(closed, `the close of ${path}`);
    } finally {
      opened.terminate();
    }
  };
}

async function watch(target: Target, path: string): Promise<void> {
  const watching = ask(target, path, { key: ADMIN_KEY, leaves: true });
  await ask(target, '/v1/completions', { body: { prompt: 'A', max_tokens: 4 } });
  await watching;
}

const LINE = { method: 'POST', url: '/v1/chat/completions' };
const HAS_ENDED = /"status":"(completed|failed|cancelled|expired)"/;

async function batch(target: Target, ends: 'completed' | 'cancelled'): Promise<void> {
  const bodies = [chat('Hi'), chat('Ho')];
  const lines = bodies.map((body, at) => JSON.stringify({ ...LINE, custom_id: `${at}`, body }));
  const id = await upload(target, lines.join('\n'));
  if (id === undefined) return;
  const body = { input_file_id: id, endpoint: LINE.url, completion_window: '24h' };
  const made = idOf(await ask(target, '/v1/batches', { body }));
  if (made === undefined) return;
  const path = `/v1/batches/${made}`;
  if (ends === 'cancelled') await ask(target, `${path}/cancel`, { method: 'POST' });
  const deadline = performance.now() + PATIENCE_MS;
  let state = await ask(target, path);
  while (!HAS_ENDED.test(state.text)) {
    if (performance.now() > deadline) throw new Hang(`a batch has not ended: ${state.text}`);
    await sleep(10);
    state = await ask(target, path);
  }
  const output = /"output_file_id":"([^"]+)"/.exec(state.text)?.[1];
  if (output !== undefined) await ask(target, `/v1/files/${output}/content`);
  await ask(target, `/v1/files/${id}`, { method: 'DELETE' });
}

async function upload(target: Target, lines: string): Promise<string | undefined> {
  const part = (name: string, more = '') =>
    `--edge\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const body = `${part('purpose')}batch\r\n${part('file', '; filename="a.jsonl"')}${lines}\r\n--edge--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=edge' };
  return idOf(await ask(target, '/v1/files', { body, headers }));
}

function idOf({ text: answer }: { readonly text: string }): string | undefined {
  return /"id":"([^"]+)"/.exec(answer)?.[1];
}

async function storedResponse(target: Target): Promise<void> {
  const body = { input: 'Hi', max_output_tokens: 16, store: true };
  const id = idOf(await ask(target, '/v1/responses', { body }));
  if (id === undefined) return;
  await ask(target, `/v1/responses/${id}`);
  await ask(target, `/v1/responses/${id}/input_items`);
  await ask(target, '/v1/responses', { body: { ...body, previous_response_id: id, stream: true } });
  await ask(target, `/v1/responses/${id}`, { method: 'DELETE' });
}

async function background(target: Target): Promise<void> {
  const body = { input: 'Hi', max_output_tokens: 16, background: true };
  const id = idOf(await ask(target, '/v1/responses', { body }));
  if (id === undefined) return;
  await ask(target, `/v1/responses/${id}?stream=true`);
  await ask(target, `/v1/responses/${id}/cancel`, { method: 'POST' });
}

async function ended(target: Target): Promise<void> {
  const id = 'one-to-end';
  const headers = { 'x-request-id': id };
  const body = { prompt: 'A', max_tokens: 300, ignore_eos: true, stream: true };
  const running = ask(target, '/v1/completions', { body, headers });
  await sleep(30);
  await ask(target, `/v1/requests/${id}`, { method: 'DELETE' });
  await running;
}

export const SCENARIOS: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  ...Object.entries(GENERATING).flatMap(([path, body]): [string, Scenario][] => [
    [path, post(path, { ...body, stream: false })],
    [`${path}, streamed`, post(path, { ...body, stream: true })],
    [`${path}, left`, post(path, { ...body, stream: true }, { leaves: true })],
  ]),
  ...Object.entries(CHATS).map(([name, body]): [string, Scenario] => [
    `a chat with ${name}`,
    post('/v1/chat/completions', body),
  ]),
  ['many at once', (target) => Promise.all(Array.from({ length: 4 }, () => storedChat(target)))],
  ['a request that is ended', ended],
  ...PLAIN.map(([path, body], at): [string, Scenario] => [`${path} ${at}`, post(path, body)]),
  ...OPERATORS.map((path): [string, Scenario] => [path, get(path, { key: ADMIN_KEY })]),
  ['a wrong key', get('/v1/models', { key: 'none' })],
  [
    'a preflight',
    get('/v1/chat/completions', { method: 'OPTIONS', headers: { origin: 'http://a.b' } }),
  ],
  ['/admin/steps', (target) => watch(target, '/admin/steps')],
  ['/models/sse', get('/models/sse', { key: ADMIN_KEY, leaves: true })],
  ['infer', post('/v2/models/summit/infer', INFER)],
  [
    'WebSocket',
    socket('/v1/chat/completions', [{ ...chat('Hi'), request_id: 'a', stream: true }], isDone),
  ],
  [
    'WebSocket, whole',
    socket('/v1/completions', [{ prompt: 'Hi', max_tokens: 4, request_id: 'a' }], isDone),
  ],
  ['WebSocket, bad frame', socket('/v1/chat/completions', [{ a: 1 }], () => true)],
  [
    'WebSocket, cancelled',
    socket(
      '/v1/chat/completions',
      [
        { ...chat('Hi', { max_tokens: 500 }), request_id: 'a', stream: true },
        { request_id: 'a', type: 'cancel' },
      ],
      isDone,
    ),
  ],
  ['WebSocket, nowhere', socket('/nowhere', [], () => true)],
  [
    'WebSocket of responses',
    socket(
      '/v1/responses',
      [{ type: 'response.create', input: 'Hi', max_output_tokens: 16 }],
      (text_) => /response\.(completed|incomplete|failed)|"error"/.test(text_),
    ),
  ],
  ['gRPC infer', unaryCall(GRPCInferenceService.method.modelInfer, inferMessage(false))],
  [
    'gRPC stream',
    (target) =>
      call(target, async (client) => {
        const stream = duplex(client, GRPCInferenceService.method.modelStreamInfer, CREDENTIALS);
        stream.send(inferMessage(true));
        stream.end();
        await stream.all();
      }),
  ],
  ['gRPC live', unaryCall(GRPCInferenceService.method.serverLive, {})],
  ['gRPC model', unaryCall(GRPCInferenceService.method.modelMetadata, { name: 'summit' })],
  ['gRPC health', unaryCall(Health.method.check, {})],
  [
    'gRPC watch',
    (target) =>
      call(target, async (client) => {
        const stream = serverStream(client, Health.method.watch, {});
        await stream.next();
        stream.call.cancel();
      }),
  ],
  [
    'gRPC reflection',
    (target) =>
      call(target, async (client) => {
        const stream = duplex(client, ServerReflection.method.serverReflectionInfo, CREDENTIALS);
        stream.send({ messageRequest: { case: 'listServices', value: '' } });
        stream.end();
        await stream.all();
      }),
  ],
  ['a batch', (target) => batch(target, 'completed')],
  ['a cancelled batch', (target) => batch(target, 'cancelled')],
  ['/v1/batches', get('/v1/batches')],
  ['a stored response', storedResponse],
  ['a response in the background', background],
]);

function isDone(frame: string): boolean {
  return frame.includes('"done"') || frame.includes('"request_id":null');
}

const storedChat: Scenario = post('/v1/chat/completions', chat('Count', { stream: true }));
