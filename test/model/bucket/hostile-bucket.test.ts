/** Object stores that want to write where they should not, to fill the memory, or to lead elsewhere. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { UntrustedPathError } from '../../../src/files/untrusted-path.ts';
import { parseBucketReference } from '../../../src/model/bucket/bucket-reference.ts';
import { bucketRemote } from '../../../src/model/bucket/bucket-remote.ts';
import { bucketAccess } from '../../../src/model/bucket/used-buckets.ts';
import { pullModel } from '../../../src/model/download/remote-model.ts';
import type { PickVariant } from '../../../src/model/export/export-folder.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { contentsOf, fail, FakeS3, listOf } from '../../support/fake-s3.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CONFIG = JSON.stringify(PRESETS.tiny);
const ETAG = '0'.repeat(32);
const MODEL = { 'm/config.json': CONFIG, 'm/model.safetensors': randomBytes(5000) };

async function attack(files: Readonly<Record<string, string | Buffer>> = MODEL) {
  const store = await FakeS3.start(files);
  onTestFinished(() => store.stop());
  const around = await temporaryDirectory();
  const cacheDirectory = join(around, 'a', 'cache');
  await mkdir(cacheDirectory, { recursive: true });
  const pickVariant: PickVariant = async ({ variants }) => variants[0] ?? { file: '' };
  const pull = (address = 's3://models/m', env = {}) => {
    const access = bucketAccess(
      { HOME: around, ...store.env, ...env },
      { endpoint: null, isOffline: false },
    );
    const remote = bucketRemote(parseBucketReference(address), access, 1);
    return pullModel(remote, { cacheDirectory, pickVariant, retryMs: 1 });
  };
  const written = async () => {
    const entries = await readdir(around, { recursive: true, withFileTypes: true });
    const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
    return names.filter((name) => name !== 'lock').toSorted();
  };
  return { store, pull, written };
}

test.each([
  'm/../../../../../onnx/model.onnx',
  'm//onnx/model.onnx',
  'm/onnx/\u0001/model.onnx',
  'm/C:\\onnx/model.onnx',
  'm/onnx/model.onnx/',
])('a key %j is not downloaded', async (key) => {
  const { store, pull, written } = await attack({ 'm/config.json': CONFIG });
  const graph = Buffer.from('graph');
  store.objects.set(key, { content: graph, etag: ETAG });
  const escaped = key.replace('\u0001', '&#1;');
  store.listing = () =>
    listOf(
      [
        contentsOf('m/config.json', CONFIG.length, store.objects.get('m/config.json')?.etag ?? ''),
        contentsOf(escaped, graph.length, ETAG).replace('&amp;#1;', '&#1;'),
      ],
      null,
    );
  await expect(pull()).rejects.toThrow(/refused|no ONNX graph by a known name|only config\.json/);
  expect(await written()).toEqual(['config.json']);
});

test.each([
  's3://models/../other',
  's3://models/a/../b',
  's3://models//a',
  's3://models/a\nb',
  's3://../a',
  's3://a..b/c',
  's3://user:word@models/a',
  's3://models?x/a',
  's3:///a',
  's3://m/a',
  `s3://models/${'a'.repeat(300)}`,
  'gs://models/.',
])('an address %j is refused', (address) => {
  expect(() => parseBucketReference(address)).toThrow(ModelError);
});

test('a listing without an end is given up', async () => {
  const { store, pull } = await attack();
  let page = 0;
  const keys = (count: number) =>
    Array.from({ length: count }, (_, index) => contentsOf(`m/${page}-${index}`, 1, ETAG));
  store.listing = () => listOf(keys(1000), String(++page));
  await expect(pull()).rejects.toThrow('has more than 10000 objects');
  expect(store.requests.length).toBeLessThan(15);
  store.requests.length = 0;
  store.listing = () => listOf([], String(++page));
  await expect(pull()).rejects.toThrow('has more than 10000 objects');
  expect(store.requests.length).toBeLessThanOrEqual(101);
  store.listing = () => listOf(keys(1), 'again');
  await expect(pull()).rejects.toThrow('did not answer like an object store');
});

const one = (key: string, size: number | string = 1, etag = ETAG) => contentsOf(key, size, etag);

test.each([
  ['nothing', ''],
  ['JSON', '{}'],
  ['an error of status 200', '<Error><Code>Odd</Code></Error>'],
  ['a key that was not asked for', listOf([one('other/config.json')], null)],
  ['a size below 0', listOf([one('m/config.json', -1)], null)],
  ['a size that is no number', listOf([one('m/config.json', '1e99')], null)],
  ['no ETag', listOf([one('m/config.json', 1, '')], null)],
  ['an ETag of two lines', listOf([one('m/config.json', 1, 'a\r\nx: y')], null)],
  ['a key twice', listOf([one('m/config.json'), one('m/config.json')], null)],
  ['a page without a name', listOf([one('m/config.json')], '')],
  ['a page with a long name', listOf([one('m/config.json')], 'x'.repeat(5000))],
  ['entities of its own', `<!DOCTYPE a [<!ENTITY b "b">]>${listOf([one('m/&b;')], null)}`],
  ['more levels than there are', listOf([`<Contents>${'<a>'.repeat(50)}`], null)],
])('a listing with %s is refused', async (_, listing) => {
  const { store, pull, written } = await attack();
  store.listing = () => listing;
  await expect(pull()).rejects.toThrow('did not answer like an object store');
  expect(await written()).toEqual([]);
});

test('an answer without an end is not read to it', async () => {
  const { store, pull } = await attack();
  let sent = 0;
  store.answer = (_, response) => {
    response.writeHead(200);
    const piece = Buffer.alloc(2 ** 20, ' ');
    const more = () => {
      sent++;
      if (!response.destroyed && sent < 500) response.write(piece, () => setImmediate(more));
    };
    more();
    return true;
  };
  await expect(pull()).rejects.toThrow('did not answer like an object store');
  expect(sent).toBeLessThan(100);
});

test.each([301, 302, 307, 308])('a redirect of status %d is not followed', async (status) => {
  const inside = await FakeS3.start(MODEL);
  onTestFinished(() => inside.stop());
  const { store, pull } = await attack();
  for (const isListed of [false, true]) {
    store.answer = ({ url = '' }, response) => {
      if (isListed && url.includes('list-type')) return false;
      response.writeHead(status, {
        location: `${inside.endpoint}${url}`,
        'x-amz-bucket-region': 'evil.example/',
      });
      response.end();
      return true;
    };
    await expect(pull()).rejects.toThrow('which is not followed');
  }
  expect(inside.requests).toEqual([]);
});

test.each(['longer', 'shorter', 'other'])('a content that is %s is refused', async (kind) => {
  const { store, pull, written } = await attack();
  const object = store.objects.get('m/model.safetensors');
  if (object === undefined) throw new Error('it was put');
  const { content, etag } = object;
  store.answer = ({ url = '', method }, response) => {
    if (method !== 'GET' || !url.endsWith('.safetensors')) return false;
    const sent = {
      longer: Buffer.concat([content, content]),
      shorter: content.subarray(1),
      other: Buffer.alloc(content.length),
    }[kind];
    response.writeHead(200, { etag: `"${etag}"`, 'content-length': sent?.length ?? 0 });
    response.end(sent);
    return true;
  };
  await expect(pull()).rejects.toThrow(/is longer than was stated|connection broke|is damaged/);
  expect(await written()).not.toContain('model.safetensors');
});

test('another range than was asked for is refused', async () => {
  const { store, pull, written } = await attack();
  store.cutAfter = 1000;
  store.answer = ({ url = '', headers }, response) => {
    if (headers.range === undefined || !url.endsWith('.safetensors')) return false;
    const etag = store.objects.get('m/model.safetensors')?.etag ?? '';
    response.writeHead(206, { etag: `"${etag}"`, 'content-range': 'bytes 0-3999/5000' });
    response.end(Buffer.alloc(4000));
    return true;
  };
  await expect(pull()).rejects.toThrow('came with another range than was asked for');
  expect(await written()).not.toContain('model.safetensors');
});

test.each([
  ['x-amz-checksum-sha256', 'AAAA'],
  ['etag', '"changed"'],
  ['x-amz-checksum-crc32', '='.repeat(10_000)],
])('a HEAD with an odd %s ends in one line or is not heeded', async (name, value) => {
  const { store, pull } = await attack();
  const object = store.objects.get('m/model.safetensors');
  store.answer = ({ method }, response) => {
    if (method !== 'HEAD') return false;
    response.writeHead(200, { etag: `"${object?.etag}"`, [name]: value }).end();
    return true;
  };
  const error: unknown = await pull().then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error === null || error instanceof ModelError || error instanceof UntrustedPathError).toBe(
    true,
  );
});

test('errors repeat nothing that a server says but a name', async () => {
  const { store, pull } = await attack();
  store.answer = (_, response) => {
    fail(response, 400, 'Bad\u001b[31m');
    return true;
  };
  const error = await pull().catch(String);
  expect(error).toMatch(/answered 400 for the list of s3:\/\/models\/m$/);
});

test.each(['ftp://host', 'http://user:word@host', 'http://host?a=b', 'no address'])(
  'an endpoint %j is refused, and not repeated',
  async (AWS_ENDPOINT_URL) => {
    expect(() => bucketAccess({ AWS_ENDPOINT_URL })).toThrow(/is no address of a server/);
    expect(() => bucketAccess({ AWS_ENDPOINT_URL })).not.toThrow(/word/);
  },
);
