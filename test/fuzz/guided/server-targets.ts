/** A whole server over an engine that costs nothing, in the same thread: requests, heads, frames. */
import { connect } from 'node:net';
import { documentedBodies } from '../../../src/server/openapi/documented-bodies.ts';
import { startServer, type TestServer } from '../../server/support/test-server.ts';
import { requireSendable, type Target } from './target.ts';

/** A connection that has nothing more to say is left. */
const IDLE_MS = 40;

let server: TestServer | undefined;

const start = async (): Promise<void> => {
  server = await startServer({ concurrency: 128, maxQueue: 256 });
};

const stop = async (): Promise<void> => {
  await server?.close();
};

/** Sends bytes, and reads until the server closes or falls silent. */
async function exchange(bytes: Buffer): Promise<string> {
  const socket = connect(Number(new URL(server?.url ?? '').port), '127.0.0.1');
  const pieces: Buffer[] = [];
  await new Promise<void>((resolve) => {
    socket.setTimeout(IDLE_MS, resolve);
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    // Cut by the server, which is an answer as well.
    socket.on('error', () => {
      resolve();
    });
    socket.on('close', () => {
      resolve();
    });
    socket.write(bytes);
  });
  socket.destroy();
  return Buffer.concat(pieces).toString('utf8');
}

/** Not here, busy, late: what a fault is not. */
const KNOWN = new Set(['501', '503', '504']);

function requireNoFault(answer: string): void {
  for (const [, status = ''] of answer.matchAll(/^HTTP\/1\.1 (5\d\d) /gm)) {
    if (!KNOWN.has(status)) throw new Error(`${status}: ${answer.slice(-600)}`);
  }
  if (/"(server_error|internal_error|api_error)"/.test(answer)) {
    const isKnown = /^HTTP\/1\.1 50[134] /m.test(answer);
    if (!isKnown) throw new Error(`a fault: ${answer.slice(-600)}`);
  }
  requireSendable(answer.slice(0, 4096).toWellFormed());
}

/** Names of fields, and what they may be. */
const FIELDS = [
  ...new Set(
    Object.values(documentedBodies).flatMap((body) =>
      Object.keys('shape' in body ? body.shape : {}),
    ),
  ),
];

const VALUES = [
  ...[
    'json_schema',
    'json_object',
    'function',
    'required',
    'tool',
    'assistant',
    'developer',
    'input_text',
  ],
  ...[
    'function_call_output',
    'tool_result',
    'tool_use',
    'image_url',
    'ephemeral',
    'include_usage',
    'minimal',
  ],
];

const user = [{ role: 'user', content: 'Hi' }];
const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

const BODIES: readonly (readonly [path: string, body: object])[] = [
  [
    '/v1/completions',
    { prompt: ['Hi'], max_tokens: 4, n: 2, logprobs: 1, stop: ['x'], stream: true },
  ],
  ['/v1/chat/completions', { messages: user, tools: [TOOL], tool_choice: 'auto', max_tokens: 4 }],
  [
    '/v1/chat/completions',
    {
      messages: user,
      stream: true,
      stream_options: { include_usage: true },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: { type: 'object' } },
      },
    },
  ],
  [
    '/v1/responses',
    {
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
      max_output_tokens: 4,
      store: true,
    },
  ],
  ['/v1/responses/input_tokens', { input: 'Hi' }],
  [
    '/v1/messages',
    {
      messages: user,
      max_tokens: 4,
      system: [{ type: 'text', text: 'a' }],
      thinking: { type: 'disabled' },
    },
  ],
  ['/v1/messages/count_tokens', { messages: user }],
  ['/api/chat', { messages: user, stream: false, options: { num_predict: 4 } }],
  ['/api/generate', { prompt: 'Hi', format: 'json', keep_alive: '5m' }],
  ['/api/show', { name: 'a' }],
  ['/api/embed', { input: ['Hi'], truncate: true }],
  ['/v1/embeddings', { input: 'Hi', encoding_format: 'base64' }],
  ['/v1/score', { text_1: 'a', text_2: ['b'] }],
  ['/v2/rerank', { query: 'a', documents: ['b', 'c'], top_n: 1 }],
  ['/rerank', { query: 'a', texts: ['b'] }],
  ['/embed', { inputs: 'a' }],
  ['/tokenize', { prompt: 'Hi', return_token_strs: true }],
  ['/detokenize', { tokens: [1] }],
  ['/v1/prefetch', { prompt: 'Hi' }],
  [
    '/v2/models/org/fake-model/infer',
    { inputs: [{ name: 'text_input', shape: [1], datatype: 'BYTES', data: ['Hi'] }] },
  ],
  ['/v2/models/org/fake-model/generate', { text_input: 'Hi', parameters: { max_tokens: 2 } }],
  ['/v2/repository/index', { ready: true }],
];

const bodies: Target = {
  name: 'bodies',
  // A path, and from the next line on its body.
  seeds: BODIES.map(([path, body]) => `${path}\n${JSON.stringify(body)}`),
  dictionary: [...FIELDS, ...VALUES],
  maxBytes: 4096,
  maxWork: 2e7,
  isParallel: true,
  packages: ['zod', 'hono'],
  start,
  stop,
  async run(input) {
    const end = input.indexOf('\n');
    const path = input
      .subarray(0, Math.max(0, end))
      .toString('latin1')
      .replaceAll(/[\s\0]/g, '');
    const body = input.subarray(end + 1);
    const head = `POST /${path.replace(/^\//, '')} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
    requireNoFault(await exchange(Buffer.concat([Buffer.from(head, 'latin1'), body])));
  },
};

const heads: Target = {
  name: 'heads',
  seeds: [
    'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'GET /v1/models/org/fake-model?x=1&after_id=%20 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAnthropic-Version: 2023-06-01\r\n\r\n',
    'POST /v1/completions HTTP/1.1\r\nHost: localhost:80\r\nTransfer-Encoding: chunked\r\nX-Request-Id: a\r\n\r\n10\r\n{"prompt": "Hi"}\r\n0\r\n\r\n',
    'OPTIONS /v1/responses/resp_1 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://a\r\nAccess-Control-Request-Method: POST\r\n\r\n',
    'POST /v2/models/org/fake-model/versions/1/infer HTTP/1.1\r\nHost: localhost\r\nInference-Header-Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}ab',
    'GET /docs HTTP/1.1\r\nHost: $`$&\r\nAccept-Encoding: gzip\r\n\r\n',
    'GET /v1/responses/resp_1?stream=true&starting_after=2&include[]=a HTTP/1.1\r\nHost: localhost\r\nLast-Event-Id: a-1\r\n\r\n',
    'POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=a\r\nContent-Length: 9\r\n\r\n--a\r\n\r\n--a',
    'GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\nGET /admin/status HTTP/1.1\r\nHost: localhost\r\n\r\n',
  ],
  dictionary: [
    ...[
      'GET ',
      'POST ',
      'DELETE ',
      'HEAD ',
      'PUT ',
      'CONNECT ',
      ' HTTP/1.0\r\n',
      'Host: ',
      'Cookie: ',
      'Range: bytes=0-',
      'Expect: 100-continue\r\n',
    ],
    ...[
      'Cache-Control: only-if-cached\r\n',
      'If-None-Match: *\r\n',
      'Upgrade: websocket\r\n',
      'Connection: upgrade\r\n',
      'Content-Length: ',
      'Keep-Alive: ',
    ],
    ...[
      '/v1/models',
      '/v1/files/',
      '/v1/batches/',
      '/v2/models/',
      '/versions/',
      '/stats',
      '/config',
      '/ready',
      '/load',
      '/unload',
      '/cancel',
      '/input_items',
    ],
    ...[
      '/admin/',
      '/api/tags',
      '/api/ps',
      '/ui/',
      '/openapi.json',
      '/slots',
      '/requests',
      '/v1/usage',
      '/v1/adapters',
      '?limit=',
      '&order=desc',
      '&after=',
    ],
  ],
  maxBytes: 2048,
  maxWork: 2e7,
  isParallel: true,
  packages: ['hono', '@hono/node-server', '@fastify/busboy'],
  start,
  stop,
  async run(input) {
    requireNoFault(await exchange(input));
  },
};

function textFrame(payload: Buffer): Buffer {
  const length =
    payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0xfe, payload.length >> 8, payload.length & 255]);
  // With a mask of zeros.
  return Buffer.concat([Buffer.from([0x81]), length, Buffer.alloc(4), payload]);
}

const frames: Target = {
  name: 'frames',
  // A path, then a frame in each line; after a zero, the bytes of frames.
  seeds: [
    `/v1/chat/completions\n${JSON.stringify({ request_id: 'a', messages: user, max_tokens: 4 })}\n{"type":"cancel","request_id":"a"}`,
    '/v1/completions\n{"request_id":"a","prompt":"Hi","n":2,"stream_options":{"include_usage":true}}\n{"request_id":"a","prompt":"Hi"}',
    '/v1/responses\n{"type":"response.create","input":"Hi","store":true}\n{"type":"response.cancel"}',
    '/v1/completions\n{"request_id":"a","prompt":"Hi"}\0\u0089\u0080\0\0\0\0\u0001\u0081\0\0\0\0{\u0080\u0081\0\0\0\0}',
  ],
  dictionary: [
    ...FIELDS,
    ...VALUES,
    'request_id',
    'response.create',
    'response.cancel',
    'event_id',
    'cancel',
  ],
  maxBytes: 2048,
  maxWork: 2e7,
  isParallel: true,
  packages: ['ws'],
  start,
  stop,
  async run(input) {
    const zero = input.indexOf(0);
    const text = zero < 0 ? input : input.subarray(0, zero);
    const [path = '', ...lines] = text.toString('latin1').split('\n');
    const target = path.replaceAll(/[\s\0]/g, '').replace(/^\//, '');
    const head = `GET /${target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
    const sent = lines.map((line) => textFrame(Buffer.from(line, 'latin1')));
    const raw = zero < 0 ? Buffer.alloc(0) : input.subarray(zero + 1);
    requireNoFault(await exchange(Buffer.concat([Buffer.from(head, 'latin1'), ...sent, raw])));
  },
};

export const SERVER_TARGETS: readonly Target[] = [bodies, heads, frames];
