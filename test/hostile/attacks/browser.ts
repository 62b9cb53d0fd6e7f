/** Requests that a page in the browser of somebody on this machine could send. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const question = { prompt: 'Hi', max_tokens: 2 };

/** Types that a page may send without asking first. */
const FORM_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''];

const messages = [{ role: 'user', content: 'Hi' }];
const POSTS: readonly (readonly [path: string, body: object])[] = [
  ['/v1/completions', question],
  ['/v1/chat/completions', { messages, max_tokens: 2 }],
  ['/chat/completions', { messages, max_tokens: 2 }],
  ['/v1/responses', { input: 'Hi', max_output_tokens: 2 }],
  ['/responses', { input: 'Hi', max_output_tokens: 2 }],
  ['/v1/messages', { messages, max_tokens: 2 }],
  ['/v1/embeddings', { input: 'Hi' }],
  ['/api/chat', { messages, options: { num_predict: 2 } }],
  ['/api/generate', { prompt: 'Hi', keep_alive: 0 }],
  ['/v2/models/summit/generate', { text_input: 'Hi' }],
  ['/models/unload', { model: 'summit' }],
  ['/admin/log-level', { level: 'trace' }],
  ['/tokenize', { prompt: 'Hi' }],
];

/** A page whose name was made to point to this machine. */
const FOREIGN = [
  'evil.example',
  'evil.example:8000',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
];

async function refuses(attacker: Client, host: string): Promise<readonly string[]> {
  const breaches: string[] = [];
  const headers = { host };
  for (const [path, body] of [
    ['/v1/models', undefined],
    ['/v1/completions', question],
    ['/metrics', undefined],
    ['/docs', undefined],
    ['/v1/responses/resp_1', undefined],
  ] as const) {
    const { status } = await attacker.send(path, { headers, body });
    if (status !== 403 && status !== 421) breaches.push(`${path} for ${host} answered ${status}`);
  }
  return breaches;
}

/** The status with which a WebSocket is refused; 101 if it is not. */
async function upgrade(attacker: Client, headers: Record<string, string>): Promise<number> {
  const socket = await attacker.connect();
  const head = attacker.head('GET', '/v1/completions', {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': 13,
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  });
  const answered = new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1')));
    socket.once('close', () => resolve(''));
  });
  socket.write(`${head}\r\n`);
  const status = Number((await answered).slice(9, 12));
  socket.destroy();
  return status;
}

export const attacks: readonly Attack[] = [
  {
    name: 'a foreign `Host` on a loopback server without keys (DNS rebinding)',
    async run({ attacker }) {
      const breaches = await Promise.all(FOREIGN.map((host) => refuses(attacker, host)));
      return breaches.flat();
    },
  },
  {
    name: 'the same over WebSocket, where the origin fits the host',
    async run({ attacker }) {
      const headers = { host: 'evil.example', origin: 'http://evil.example' };
      const status = await upgrade(attacker, headers);
      return status === 101 ? ['a WebSocket was opened'] : [];
    },
  },
  {
    name: "a foreign page's `Origin`: no WebSocket, no readable answer, no form post",
    async run({ attacker }) {
      const breaches: string[] = [];
      const headers = { origin: 'http://evil.example' };
      if ((await upgrade(attacker, headers)) === 101) breaches.push('a WebSocket was opened');
      const form = { ...headers, 'content-type': 'text/plain' };
      const { status } = await attacker.send('/v1/completions', { headers: form, body: question });
      if (status < 400) breaches.push(`a form post answered ${status}`);
      return breaches;
    },
  },
  {
    name: 'forms, beacons and pages without an origin post JSON as text to every API',
    async run({ attacker }) {
      const pages = [
        { origin: 'http://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site', origin: '' },
      ];
      const breaches: string[] = [];
      for (const [path, body] of POSTS) {
        for (const page of pages) {
          for (const type of FORM_TYPES) {
            const headers = { ...page, 'content-type': type };
            const { status } = await attacker.send(path, { headers, body });
            if (status < 400) breaches.push(`${path} as ${type} answered ${status}`);
          }
        }
      }
      return breaches;
    },
  },
  {
    name: 'names of this machine are let in',
    async run({ attacker }) {
      const breaches: string[] = [];
      for (const host of [
        'localhost',
        'localhost:8000',
        '127.0.0.1',
        '127.0.0.1:1',
        '[::1]:8000',
      ]) {
        const { status } = await attacker.send('/v1/models', { headers: { host } });
        if (status !== 200) breaches.push(`${host} answered ${status}`);
      }
      return breaches;
    },
  },
];
