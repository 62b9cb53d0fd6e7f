/** Protocols of a server's ports, as bytes: sound ones, and others. */
import { callHead, FRAME, frame, PREFACE } from '../../support/http2-frames.ts';
import { KEYS } from './attack.ts';
import type { Port } from './doors.ts';
import { frame as webSocketFrame } from './raw-frames.ts';

/** Parts that a connection sends: the next one once something has come back. */
export type Words = readonly Buffer[];

export interface Protocol {
  /** So many questions, each with a long answer where there is one. */
  readonly asks: (count: number) => Words;
  /** Framing that is not well-formed. */
  readonly malformed: readonly Words[];
  /** Sound, but for the key, or whatever shows who it is. */
  readonly wrongKeys: readonly Words[];
  /** Sound, but for what they name: paths, hosts, topics. */
  readonly wrongNames: readonly Words[];
}

const BYTE = 256;
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const join = (...parts: readonly (Buffer | string)[]): Buffer =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
  );

const WRONG_KEYS = ['', 'nobody', `${KEYS.attacker}x`, 'k'.repeat(120), '\x7f\xff'];
const WRONG_PATHS = [
  '*',
  '//',
  '/..%2f..%2fetc/passwd',
  '/%00',
  '/%E0%A4%A',
  '/v1/models/__proto__',
  'http://other.host/v1/models',
  `/${'a/'.repeat(7000)}`,
  `/v1/models?${'a=b&'.repeat(3000)}`,
];
const WRONG_HOSTS = ['', '$`', 'a'.repeat(5000), 'other.host:0', 'a, b', '[::1', '\xff'];

const say = (...parts: readonly (Buffer | string)[]): Words => [join(...parts)];

type Fields = Readonly<Record<string, string>>;

function httpHead(path: string, fields: Fields = {}): string {
  const all = { host: 'localhost', authorization: `Bearer ${KEYS.attacker}`, ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** @param path with a long answer */
function http(path: string): Protocol {
  return {
    asks: (count) => say(httpHead(path).repeat(count)),
    malformed: [
      `GET ${path}\r\n\r\n`,
      `GET ${path} HTTP/9.9\r\nhost: localhost\r\n\r\n`,
      `GET ${path} HTTP/1.1\nhost: localhost\n\n`,
      `GET ${path} HTTP/1.1\r\nhost : localhost\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\n folded: a\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nhost: other\r\n\r\n`,
      httpHead(path, { 'content-length': '-1' }),
      httpHead(path, { 'content-length': '5, 6' }),
      httpHead(path, { 'content-length': '5', 'transfer-encoding': 'chunked' }),
      httpHead(path, { 'transfer-encoding': 'gzip, chunked' }),
      `${httpHead(path, { 'transfer-encoding': 'chunked' })}fffffffffffffffff\r\n`,
      `${httpHead(path, { 'transfer-encoding': 'chunked' })}1;${'a'.repeat(20_000)}\r\n`,
      `${httpHead(path, { 'transfer-encoding': 'chunked' })}0\r\n${'a: b\r\n'.repeat(5000)}`,
      httpHead(path, { a: 'b'.repeat(20_000) }),
      httpHead(path, { a: '\0' }),
    ].map((text) => say(text)),
    wrongKeys: WRONG_KEYS.flatMap((key) => [
      say(httpHead(path, { authorization: `Bearer ${key}` })),
      say(httpHead(path, { authorization: key, 'x-api-key': key })),
    ]),
    wrongNames: [
      ...WRONG_PATHS.map((wrong) => say(httpHead(wrong))),
      ...WRONG_HOSTS.map((host) => say(httpHead(path, { host }))),
    ],
  };
}

function upgrade(path: string, fields: Fields = {}): string {
  return httpHead(path, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...fields,
  });
}

const COMPLETIONS = '/v1/completions';
const question = (index: number) =>
  webSocketFrame(
    JSON.stringify({ request_id: `${index}`, prompt: 'Once', max_tokens: 64, logprobs: 20 }),
  );

const WEB_SOCKET: Protocol = {
  asks: (count) => say(upgrade(COMPLETIONS), ...times(count, question)),
  malformed: [
    say(upgrade(COMPLETIONS, { 'sec-websocket-key': 'a' })),
    say(upgrade(COMPLETIONS, { 'sec-websocket-version': '12' })),
    say(upgrade(COMPLETIONS, { 'content-length': '9' }), 'x'.repeat(9)),
    say(upgrade(COMPLETIONS, { 'sec-websocket-extensions': `${'a; b=c, '.repeat(900)}a` })),
    ...[
      // Unmasked, with bits that nothing stands for, of an unknown kind, cut into pieces that go on nothing.
      [0x81, 1, 0x61],
      [0xf1, 0x80, 0, 0, 0, 0],
      [0x83, 0x80, 0, 0, 0, 0],
      [0x80, 0x80, 0, 0, 0, 0],
      [0x09, 0x80, 0, 0, 0, 0],
      // Longer than there is memory, and a text that is no Unicode.
      [0x81, 0xff, 0x7f, ...times(7, () => 0xff), 0, 0, 0, 0],
      [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
    ].map((bytes) => say(upgrade(COMPLETIONS), Buffer.from(bytes))),
  ],
  wrongKeys: WRONG_KEYS.flatMap((key) => [
    say(upgrade(COMPLETIONS, { authorization: `Bearer ${key}` }), question(0)),
    say(upgrade(COMPLETIONS, { 'sec-websocket-protocol': `openai-insecure-api-key.${key}` })),
  ]),
  wrongNames: [
    ...WRONG_PATHS.map((path) => say(upgrade(path), question(0))),
    ...WRONG_HOSTS.map((host) => say(upgrade(COMPLETIONS, { host, origin: host }), question(0))),
  ],
};

const SETTINGS = join(PREFACE, frame(FRAME.settings, 0));
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const SYMBOL = 'inference.GRPCInferenceService';
/** Asks for all that the service is made of. */
const REFLECT = join(Buffer.from([0, 0, 0, 0, SYMBOL.length + 2, 0x22, SYMBOL.length]), SYMBOL);

function call(index: number, path = REFLECTION, fields: Fields = {}): Buffer {
  const id = 1 + 2 * index;
  return join(
    callHead(path, id, { 'x-api-key': KEYS.attacker, ...fields }),
    frame(FRAME.data, id, REFLECT, 1),
  );
}

const GRPC: Protocol = {
  asks: (count) => say(SETTINGS, ...times(count, (index) => call(index))),
  malformed: [
    say(PREFACE.slice(0, 20), 'x'.repeat(100)),
    // Frames that are too long, of streams that there are not, of the wrong length, out of order.
    say(SETTINGS, Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])),
    say(SETTINGS, frame(FRAME.data, 7, REFLECT)),
    say(SETTINGS, frame(FRAME.data, 0, REFLECT)),
    say(SETTINGS, frame(FRAME.headers, 2, Buffer.from([0x82]), 4)),
    say(SETTINGS, frame(FRAME.settings, 0, Buffer.alloc(5))),
    say(SETTINGS, frame(FRAME.settings, 0, Buffer.alloc(6 * 2000, 0xff))),
    say(SETTINGS, frame(FRAME.window, 0, Buffer.alloc(4, 0xff))),
    say(SETTINGS, frame(FRAME.reset, 9, Buffer.alloc(4))),
    say(SETTINGS, frame(FRAME.priority, 1, Buffer.alloc(4))),
    say(SETTINGS, call(1), call(0)),
    // Fields that cannot be unpacked, and ones that do not end.
    say(SETTINGS, frame(FRAME.headers, 1, Buffer.alloc(100, 0xff), 4)),
    say(SETTINGS, frame(FRAME.headers, 1, Buffer.from([0x82])), frame(FRAME.data, 1, REFLECT)),
    say(SETTINGS, callHead(REFLECTION, 1), frame(FRAME.data, 1, Buffer.alloc(100, 0xff), 1)),
  ],
  wrongKeys: WRONG_KEYS.flatMap((key) => [
    say(SETTINGS, call(0, '/inference.GRPCInferenceService/ModelInfer', { 'x-api-key': key })),
    say(
      SETTINGS,
      call(0, '/inference.GRPCInferenceService/ModelInfer', {
        authorization: `Bearer ${key}`.slice(0, 120),
      }),
    ),
  ]),
  wrongNames: [
    ...WRONG_PATHS.map((path) => say(SETTINGS, call(0, path.slice(0, 120)))),
    ...WRONG_HOSTS.map((host) =>
      say(SETTINGS, call(0, REFLECTION, { ':authority': host.slice(0, 120) })),
    ),
    say(SETTINGS, call(0, REFLECTION, { ':method': 'GET', 'content-type': 'text/plain' })),
  ],
};

const MORE = 1;
const LONG = 2;
const COMMAND = 4;

/** A frame of ZMTP 3 (rfc.zeromq.org/spec/23). */
function zeroMqFrame(flags: number, body: Buffer | string): Buffer {
  const bytes = join(body);
  if (bytes.length < BYTE) return join(Buffer.from([flags, bytes.length]), bytes);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes.length));
  return join(Buffer.from([flags | LONG]), length, bytes);
}

function greeting(mechanism = 'NULL', version = 3): Buffer {
  const bytes = Buffer.alloc(64);
  bytes[0] = 0xff;
  bytes[9] = 0x7f;
  bytes[10] = version;
  bytes.write(mechanism, 12, 20, 'latin1');
  return bytes;
}

/** As sockets of a kind introduce themselves. */
function ready(kind: string, fields: Fields = {}): Buffer {
  const properties = Object.entries({ 'Socket-Type': kind, ...fields }).map(([name, value]) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return join(Buffer.from([name.length]), name, length, value);
  });
  return zeroMqFrame(COMMAND, join('\x05READY', ...properties));
}

/** @param kind of socket that connects. @param message what it sends there */
function zeroMq(kind: string, message: (topic: string) => Buffer): Protocol {
  const hello = join(greeting(), ready(kind));
  // It takes no message before it has answered.
  const then = (...parts: readonly (Buffer | string)[]): Words => [hello, join(...parts)];
  return {
    asks: (count) => then(...times(count, (index) => message(String(index)))),
    malformed: [
      say(greeting(), zeroMqFrame(0, 'a')),
      say(greeting(), zeroMqFrame(COMMAND, '\xffREADY')),
      say(greeting(), zeroMqFrame(COMMAND, '\x05READY\x0bSocket-Type\xff\xff\xff\xff')),
      say(greeting(), ready('NONE')),
      say(greeting(), zeroMqFrame(COMMAND, '\x05ERROR\xff')),
      then(Buffer.from([0xff, 0xff]), 'x'.repeat(BYTE)),
      then(Buffer.from([LONG]), Buffer.alloc(8, 0xff)),
      then(Buffer.from([LONG, 0x7f]), Buffer.alloc(7, 0xff), 'x'.repeat(BYTE)),
      then(zeroMqFrame(COMMAND, '\x04PING')),
      then(zeroMqFrame(COMMAND, '\x04PING\0\0'.concat('x'.repeat(3000)))),
      then(...times(2000, () => zeroMqFrame(MORE, ''))),
      then(zeroMqFrame(0, ''), zeroMqFrame(0, 'x'.repeat(7))),
    ],
    wrongKeys: [
      say(greeting('PLAIN'), zeroMqFrame(COMMAND, '\x05HELLO\x04user\x04pass')),
      say(greeting('CURVE'), zeroMqFrame(COMMAND, '\x05HELLO'.concat('\0'.repeat(194)))),
      say(greeting('\xff'.repeat(20))),
      say(greeting('NULL', 0)),
    ],
    wrongNames: [
      ...['', '\0', '\xff\xfe', 'kv@', 'x'.repeat(100_000)].map((topic) => then(message(topic))),
      say(greeting(), ready(kind, { Identity: 'x'.repeat(BYTE) }), message('')),
      say(greeting(), ready(kind, { Identity: '\0' }), message('')),
    ],
  };
}

const subscribe = (topic: string) => zeroMqFrame(0, join('\x01', topic));
/** An empty frame, and where to begin: eight bytes, or whatever else is said. */
const replay = (from: string) =>
  join(zeroMqFrame(MORE, ''), zeroMqFrame(0, /^\d+$/.test(from) ? Buffer.alloc(8) : from));

export const PROTOCOLS: Readonly<Record<Port, Protocol>> = {
  first: http('/openapi.json'),
  webSocket: WEB_SOCKET,
  metrics: http('/metrics'),
  grpc: GRPC,
  events: zeroMq('SUB', subscribe),
  replay: zeroMq('DEALER', replay),
};

/** First words of protocols that no port speaks; with TLS it may. */
export const FOREIGN: readonly Words[] = [
  // A greeting of TLS 1.2, whose length is more than comes.
  say(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), 'r'.repeat(300)),
  say('SSH-2.0-OpenSSH_9.6\r\n'),
  say('*1\r\n$4\r\nPING\r\n'.repeat(100)),
  say('EHLO a\r\nMAIL FROM:<a@b>\r\n'),
  say('PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n'),
  say(Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f])),
];
