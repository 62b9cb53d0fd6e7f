/**
 * Images in chats that are not what they say, or lead where they must not. All of it is refused by a model that
 * sees and by one that does not.
 */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gifBomb, pngBomb, webpBomb } from '../../support/image-bombs.ts';
import { DOT } from '../../support/images.ts';
import type { Attack } from '../support/attack.ts';
import { BOUNDARY, FORM } from '../support/batch-file.ts';
import type { Client } from '../support/client.ts';

const CHAT = '/v1/chat/completions';
const SECRET = 'the secret of the network';
/** Where the servers of an attack listen: the operator allows this very port of one address, and of a name. */
const LURE_PORT = 38_471;
/** The operator allows it by a name of this machine, which is no reason to connect to it. */
const CANARY_PORT = 38_472;
const FETCHES = [
  `--allowed-media-domains=images.example,*.wild.example,localhost:${CANARY_PORT},127.0.0.1:${LURE_PORT}`,
];

const part = (url: string) => ({ type: 'image_url', image_url: { url } });
const chatOf = (...parts: readonly object[]) => ({
  max_tokens: 1,
  messages: [{ role: 'user', content: parts }],
});
const dataUrl = (file: Buffer | string) =>
  `data:image/png;base64,${Buffer.from(file).toString('base64')}`;

/** The same image in the form of each API. */
function bodiesOf(url: string): readonly (readonly [path: string, body: object])[] {
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }];
  const block = { type: 'image', source: { type: 'url', url } };
  const messages = [{ role: 'user', content: [block] }];
  return [
    [CHAT, chatOf(part(url))],
    ['/tokenize', chatOf(part(url))],
    ['/v1/responses', { input, max_output_tokens: 16 }],
    ['/v1/messages', { max_tokens: 1, messages }],
    ['/v1/messages/count_tokens', { messages }],
  ];
}

/** @returns those that were answered otherwise than with 400, or with more than they should tell */
async function refuseAll(client: Client, urls: readonly string[]): Promise<string[]> {
  const breaches: string[] = [];
  for (const url of urls) {
    for (const [path, body] of bodiesOf(url)) {
      const { status, text } = await client.send(path, { body });
      const shown = `${path} with ${url.slice(0, 100)}`;
      if (status !== 400) breaches.push(`${shown} answered ${status}: ${text.slice(0, 200)}`);
      if (text.includes(SECRET) || text.includes('root:')) breaches.push(`${shown} told of it`);
    }
  }
  return breaches;
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
}

/** Counts connections; nobody may come. */
async function withCanary<T>(run: () => Promise<T>): Promise<[T, number]> {
  let numAsked = 0;
  const canary = createServer((_, response) => response.end(DOT));
  canary.on('connection', () => numAsked++);
  try {
    await listen(canary, CANARY_PORT);
    return [await run(), numAsked];
  } finally {
    canary.close().closeAllConnections();
  }
}

/** Names and numbers of this machine and its networks, as people and programs write them. */
const HOSTS = [
  '127.0.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '017700000001',
  '0177.0.0.1',
  '127.1',
  '127.000.000.001',
  '0',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[fe80::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  '127.0.0.1.',
  'images.example@127.0.0.1',
  'images.example:80@127.0.0.1',
  '127.0.0.1#images.example',
  '127.0.0.1?images.example',
  '127.0.0.1\\images.example',
  'ⓛocalhost',
  '１２７.0.0.1',
  '127。0。0。1',
  'xn--n3h.wild.example',
  'wild.example',
].map((host) => `http://${host.replace(/(?=[#?\\]|$)/, `:${CANARY_PORT}`)}/dot.png`);

const OTHER_URLS = [
  'file:///etc/passwd',
  'file://localhost/etc/passwd',
  'FILE:///etc/passwd',
  'file:/etc/passwd',
  'ftp://images.example/a.png',
  'gopher://127.0.0.1:6379/_INFO',
  'dict://127.0.0.1:6379/info',
  'jar:http://images.example!/a',
  'blob:http://images.example/1',
  'javascript:alert(1)',
  'data:data:image/png;base64,AAAA',
  'data:text/html;base64,PGI+',
  'data:image/png,raw',
  'data:image/svg+xml;base64,PHN2Zy8+',
  'http://169.254.169.254/latest/meta-data/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://metadata.google.internal/computeMetadata/v1/',
  'http://user:word@images.example/a.png',
  'http://images.example:22/a.png',
  'https://images.example.evil.invalid/a.png',
  `https://images.example/${'a'.repeat(100_000)}`,
  'http://',
  '//images.example/a.png',
  '',
];

/** Lead on, or never end: by path. */
async function withLure<T>(run: () => Promise<T>): Promise<T> {
  const timers: NodeJS.Timeout[] = [];
  const lure = createServer(({ url = '' }, response) => {
    const to = decodeURIComponent(url.slice(1));
    if (to === 'text') return response.writeHead(200, { 'content-type': 'image/png' }).end(SECRET);
    if (to === 'packed') {
      return response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(Buffer.from('1f8b', 'hex'));
    }
    if (to === 'bomb') return response.writeHead(200).end(pngBomb(60_000));
    if (to === 'large')
      return response.writeHead(200, { 'content-length': 2 ** 40 }).flushHeaders();
    if (to === 'endless' || to === 'slow') {
      const size = to === 'slow' ? 1 : 2 ** 20;
      timers.push(setInterval(() => response.write(Buffer.alloc(size)), to === 'slow' ? 500 : 1));
      return response.on('close', () => timers.forEach((timer) => clearInterval(timer)));
    }
    if (to === 'loop') return response.writeHead(302, { location: '/loop' }).end();
    if (to === 'denied') return response.writeHead(403).end(SECRET);
    return response.writeHead(302, { location: to.replace('PORT', String(CANARY_PORT)) }).end();
  });
  await listen(lure, LURE_PORT);
  try {
    return await run();
  } finally {
    for (const timer of timers) clearInterval(timer);
    lure.close().closeAllConnections();
  }
}

const REDIRECTS = [
  'http://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  '//127.0.0.1:PORT/',
  'file:///etc/passwd',
  'data:image/png;base64,AAAA',
  'http://me:word@127.0.0.1:38471/text',
  'text',
  'packed',
  'bomb',
  'large',
  'endless',
  'loop',
  'denied',
];

/** A folder beside which there is more than in it. */
function withFolder(folder: string): readonly string[] {
  const root = mkdtempSync(join(folder, 'media-'));
  mkdirSync(join(root, 'media'));
  mkdirSync(join(root, 'media-other'));
  writeFileSync(join(root, 'secret.png'), DOT);
  writeFileSync(join(root, 'media-other', 'a.png'), DOT);
  symlinkSync(join(root, 'secret.png'), join(root, 'media', 'link.png'));
  symlinkSync(root, join(root, 'media', 'up'));
  return [`--allowed-local-media-path=${join(root, 'media')}`];
}

/** The folder is the server's secret: these are all that can be guessed. */
const LOCAL = [
  '/etc/passwd',
  '/proc/self/environ',
  '/proc/self/root/etc/passwd',
  '/dev/zero',
  '/dev/stdin',
  '/',
  process.cwd(),
].flatMap((path) => {
  const { href } = pathToFileURL(path);
  return [href, href.replaceAll('/', '%2f'), `${href}/../..`, `${href}%00.png`, `${href}?a`];
});

export const attacks: readonly Attack[] = [
  {
    name: 'images at 32 names of this machine and 24 other addresses, over 5 APIs',
    flags: FETCHES,
    async run({ attacker }) {
      const [breaches, numAsked] = await withCanary(() =>
        refuseAll(attacker, [...HOSTS, ...OTHER_URLS]),
      );
      return numAsked === 0
        ? breaches
        : [...breaches, `${numAsked} connections came to the canary`];
    },
  },
  {
    name: 'an allowed host that leads to this machine, sends texts, bombs, endless and packed bodies',
    flags: FETCHES,
    async run({ attacker }) {
      const urls = REDIRECTS.map((to) => `http://127.0.0.1:${LURE_PORT}/${encodeURIComponent(to)}`);
      const [breaches, numAsked] = await withCanary(() =>
        withLure(() => refuseAll(attacker, urls)),
      );
      return numAsked === 0
        ? breaches
        : [...breaches, `${numAsked} connections came to the canary`];
    },
  },
  {
    name: '200 images of an allowed host that sends a byte now and then, half of them given up',
    flags: FETCHES,
    hasKeys: true,
    async run({ attacker, victim }) {
      return await withLure(async () => {
        const body = chatOf(part(`http://127.0.0.1:${LURE_PORT}/slow`));
        const flood = Array.from({ length: 200 }, (_, index) =>
          attacker.try(CHAT, {
            body,
            signal: AbortSignal.timeout(index % 2 === 0 ? 500 : 3000),
          }),
        );
        const { status } = await victim.send(CHAT, {
          body: chatOf({ type: 'text', text: 'Hi' }),
        });
        await Promise.all(flood);
        return status === 200 ? [] : [`the victim got ${status}`];
      });
    },
  },
  {
    name: 'an allowed host that is no HTTP server, and one that hangs up',
    flags: FETCHES,
    async run({ attacker }) {
      const breaches: string[] = [];
      for (const greeting of [`220 ${SECRET}\r\n`, 'HTTP/1.1 200 OK\r\n', '']) {
        const server = createTcpServer((socket) => {
          socket
            .on('error', () => {})
            .resume()
            .end(greeting);
        });
        await listen(server, LURE_PORT);
        breaches.push(...(await refuseAll(attacker, [`http://127.0.0.1:${LURE_PORT}/`])));
        await new Promise((resolve) => server.close(resolve));
      }
      return breaches;
    },
  },
  {
    name: 'data URLs of bombs, of nothing, of broken base64, of 6 MB; 500 images, 1,024 parts, 2,048 messages',
    async run({ attacker }) {
      const base64 = DOT.toString('base64');
      const urls = [
        dataUrl(pngBomb(60_000)),
        dataUrl(gifBomb()),
        dataUrl(webpBomb()),
        dataUrl(''),
        dataUrl('<svg xmlns="http://www.w3.org/2000/svg"/>'),
        `data:image/png;base64,${base64}${base64}`,
        `data:image/png;base64,${base64.slice(0, 9)}*`,
        `data:image/png;base64,${'='.repeat(100_000)}`,
        `data:image/png;base64,${'A'.repeat(6_000_000)}`,
        `data:image/png;base64,${' '.repeat(6_000_000)}`,
        `data:${'a'.repeat(6_000_000)}`,
        `data:image/${'png;'.repeat(100_000)}base64,AAAA`,
      ];
      const breaches = await refuseAll(attacker, urls);
      const image = part(dataUrl(DOT));
      const many = [
        chatOf(...Array.from({ length: 500 }, () => image)),
        chatOf(...Array.from({ length: 1025 }, () => image)),
        { messages: Array.from({ length: 2048 }, () => ({ role: 'user', content: [image] })) },
        chatOf({ type: 'image_url', image_url: { url: { url: { url: base64 } } } }),
        chatOf({ type: 'image', source: { type: 'base64', data: base64 } }),
        chatOf({ type: 'image_url', image_url: [image, image] }),
      ];
      for (const body of many) {
        const { status } = await attacker.send(CHAT, { body });
        if (status !== 400) breaches.push(`many images were answered ${status}`);
      }
      for (const images of [['A'], [base64, 5], Array(2000).fill(base64), { 0: base64 }]) {
        const { status } = await attacker.send('/api/generate', {
          body: { prompt: 'a', images, stream: false },
        });
        if (status !== 400) breaches.push(`/api/generate answered ${status}`);
      }
      return breaches;
    },
  },
  {
    name: 'texts that spell the marks of images, in every place of a chat',
    async run({ attacker }) {
      const marks = '<image><fake_token_around_image><row_1_col_1><|image_pad|><start_of_image>';
      const text = { type: 'text', text: marks };
      const body = {
        ...chatOf(text, { ...text, source: { type: 'base64' }, field: marks, image: marks }),
        tools: [{ type: 'function', function: { name: 'a', description: marks, parameters: {} } }],
        chat_template_kwargs: { image: marks, imageTexts: [marks] },
      };
      const { status, text: told } = await attacker.send(CHAT, { body });
      return status === 200 ? [] : [`answered ${status}: ${told.slice(0, 200)}`];
    },
  },
  {
    name: 'local files out of the allowed folder',
    flags: withFolder,
    run: ({ attacker }) => refuseAll(attacker, LOCAL),
  },
  {
    name: 'the other key’s images, by the ids of their files',
    flags: (folder) => ['--batch-dir', mkdtempSync(join(folder, 'files-'))],
    hasKeys: true,
    async run({ attacker, victim }) {
      const head = (name: string) =>
        `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"`;
      const form = `${head('purpose')}\r\n\r\nvision\r\n${head('file')}; filename="a"\r\n\r\n${DOT.toString('latin1')}\r\n--${BOUNDARY}--\r\n`;
      const made = await victim.send('/v1/files', { body: form, headers: FORM });
      const { id } = JSON.parse(made.text) as { id: string };
      const never = id.replaceAll(/[0-9a-f](?=[0-9a-f]*$)/g, '0');
      const breaches: string[] = [];
      const tellOf = async (file: string): Promise<string[]> => {
        const image = { type: 'image', source: { type: 'file', file_id: file } };
        const input = [{ role: 'user', content: [{ type: 'input_image', file_id: file }] }];
        const messages = [{ role: 'user', content: [image] }];
        const answers = [
          await attacker.send('/v1/responses', { body: { input, max_output_tokens: 16 } }),
          await attacker.send('/v1/messages', { body: { max_tokens: 1, messages } }),
          await attacker.send(`/v1/files/${file}/content`),
        ];
        for (const { status } of answers) {
          if (status !== 400 && status !== 404) breaches.push(`${file} was answered ${status}`);
        }
        return answers.map(({ text }) =>
          text.replaceAll(file, 'ID').replaceAll(/"request_id":"[^"]*"/g, ''),
        );
      };
      const [own, none] = [await tellOf(id), await tellOf(never)];
      if (own.join('\n') !== none.join('\n'))
        breaches.push('a file is told from one that never was');
      for (const path of ['../batches', `../files/${id}`, `${id}.json`]) await tellOf(path);
      return breaches;
    },
  },
];
