import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { JsonBoundError, JsonScanner } from '../../src/front/json-bounds.ts';
import { LIMITS } from '../../src/limits.ts';
import { BodyBudget } from '../../src/server/http/body-budget.ts';
import { ApiError } from '../../src/server/errors.ts';
import { JsonText, parseScanned } from '../../src/server/http/json-text.ts';
import { withExactSeed } from '../../src/server/schemas/exact-seed.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();
const BYTES = LIMITS.bodyBytes - 8;
const parseJson = (text: string): unknown => {
  const json = new JsonText();
  json.push(Buffer.from(text));
  return parseScanned(json.end());
};
const repeated = (unit: string, count: number) => `[${unit.repeat(count)}0]`;
const fields = (count: number, nameOf: (index: number) => string) =>
  `{${Array.from({ length: count }, (_, index) => `"${nameOf(index)}":1`).join()}}`;

/** Bodies that keep JSON.parse busiest, each as large as one may be or of one piece too many. */
const TOO_MUCH = [
  ['deep lists', '['.repeat(BYTES), /64 levels/],
  ['deep objects', '{"a":'.repeat(BYTES / 5), /64 levels/],
  ['lists and objects in turn', '[{"a":'.repeat(33), /64 levels/],
  ['many numbers', repeated('1,', BYTES / 2), /262144 values/],
  ['many lists', repeated('[],', BYTES / 3), /32768 lists/],
  ['many objects', repeated('{},', BYTES / 3), /32768 lists/],
  ['many strings', repeated('"",', BYTES / 3), /65536 strings/],
  ['many fields', fields(LIMITS.jsonFields + 1, (index) => `f${index}`), /16384 fields/],
  ['fields of escaped digits', fields(20_000, (index) => `\\u0031${index}`), /16384 fields/],
  ['fields that only seem to be ids', fields(20_000, (index) => `0${index}`), /16384 fields/],
] as const;

describe('JSON of', () => {
  it.each(TOO_MUCH)('%s is refused before it is parsed', async (_, text, message) => {
    const target = await server();
    const refused = await post(target, '/v1/messages', text);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toMatch(message);
    for (const path of ['/v1/chat/completions', '/tokenize', '/v1/responses']) {
      const error = await errorOf(await post(target, path, text), 400);
      expect(error.message).toMatch(message);
      expect(error.code).toBe('json_too_complex');
    }
    expect(() => parseJson(text)).toThrow(message);
  });

  it.each([
    ['the most levels', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['brackets in strings', JSON.stringify(`${'[{'.repeat(1000)}\\"[`)],
    ['a bias for every token', fields(LIMITS.logitBiases, String)],
    ['a prompt of token ids', repeated('1234,', 200_000)],
    ['one long string of escapes', JSON.stringify('\u0000"\\'.repeat(400_000))],
    ['one long string', JSON.stringify('漢🎿'.repeat(700_000))],
  ])('%s is taken', (_, text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it.each([1, 2, 3, 7, 64])('any shape is counted alike in pieces of %i', (size) => {
    const scan = (text: string) => {
      const scanner = new JsonScanner();
      for (let at = 0; at < text.length; at += size) scanner.push(text.slice(at, at + size));
      return scanner;
    };
    const deep = `["[[", "\\"[", {"a\\\\": ${'['.repeat(62)}"]`;
    expect(() => scan(deep)).not.toThrow();
    expect(() => scan(deep.replace('"]', '['))).toThrow(JsonBoundError);
    const scanner = scan(fields(20_000, String));
    expect(() => scanner.push(fields(LIMITS.jsonFields + 1, (index) => `x${index}`))).toThrow(
      /fields/,
    );
  });
});

it('takes a body whose characters are split over chunks', async () => {
  const { url } = await server({ maxModelLen: 4096 });
  const body = Buffer.from(JSON.stringify({ prompt: 'x', user: '漢🎿"\\[é' }));
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.setNoDelay(true);
  socket.write(
    `POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  for (const byte of body) {
    socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 200/);
});

describe('the memory of bodies', () => {
  it('is bounded for each client and for all, and given back', () => {
    const budget = new BodyBudget();
    const statusOf = (client: string, numBytes: number) => {
      try {
        budget.charge(client, numBytes);
      } catch (error) {
        return error instanceof ApiError ? [error.status, error.headers['retry-after']] : error;
      }
      return 200;
    };
    const share = LIMITS.clientBodyBytesAtOnce;
    expect(statusOf('a', share)).toBe(200);
    expect(statusOf('a', 1)).toEqual([429, '1']);
    expect(statusOf('b', share)).toBe(200);
    expect(statusOf('c', 1)).toEqual([503, '1']);
    budget.release('a', share);
    expect(statusOf('a', 1)).toBe(200);
    expect(statusOf('c', 1)).toBe(200);
  });

  it('is given back when a body is refused or cut short', async () => {
    const target = await server();
    // Kept, they would come to more than a client's share.
    const times = Math.ceil(LIMITS.clientBodyBytesAtOnce / LIMITS.bodyBytes) + 2;
    for (let time = 0; time < times; time++) {
      const text = `"${'x'.repeat(LIMITS.bodyBytes - 100)}"]`;
      expect((await post(target, '/tokenize', text)).status).toBe(400);
    }
    expect((await post(target, '/tokenize', { prompt: 'x' })).status).toBe(200);
  });
});

it('looks up an exact seed however often the word is in the text', () => {
  const seed = '9007199254740993';
  const noise = '"seed" '.repeat(200_000);
  expect(withExactSeed({ seed: Number(seed) }, `${noise}{"seed": ${seed}}`)).toEqual({
    seed: BigInt(seed),
  });
});

describe('the pieces of a chunked body', () => {
  /** Answer to spaces in so many pieces, and a right body after them; empty if it is cut. */
  async function answerTo(numPieces: number): Promise<string> {
    const { hostname, port } = new URL((await server()).url);
    const socket = connect(Number(port), hostname);
    const answered = new Promise<string>((resolve) => {
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('close', () => resolve(''));
    });
    const head = `POST /tokenize HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n`;
    const body = `${'1\r\n \r\n'.repeat(numPieces)}e\r\n{"prompt":"x"}\r\n0\r\n\r\n`;
    socket.on('error', () => {});
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n${body}`);
    return answered.finally(() => socket.destroy());
  }

  it('may be small', async () => {
    expect(await answerTo(LIMITS.smallBodyPieces - 1)).toContain('HTTP/1.1 200');
  });

  it('may not be small and many: the connection is cut', async () => {
    expect(await answerTo(LIMITS.smallBodyPieces)).toBe('');
  });
});
