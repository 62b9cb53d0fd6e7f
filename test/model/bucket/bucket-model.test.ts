import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { bucketRemote } from '../../../src/model/bucket/bucket-remote.ts';
import { parseBucketReference } from '../../../src/model/bucket/bucket-reference.ts';
import { bucketAccess } from '../../../src/model/bucket/used-buckets.ts';
import { pullAdapter } from '../../../src/model/download/remote-adapter.ts';
import { pullModel } from '../../../src/model/download/remote-model.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { fail, FakeS3 } from '../../support/fake-s3.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const WEIGHTS = randomBytes(300_000);
const FILES = {
  'qwen/': '',
  'qwen/README.md': 'not needed',
  'qwen/config.json': JSON.stringify(PRESETS.tiny),
  'qwen/tokenizer.json': '{}',
  'qwen/model.safetensors': WEIGHTS,
  'qwen-other/config.json': 'of another model',
};

async function storeWith(files: Readonly<Record<string, string | Buffer>> = FILES) {
  const store = await FakeS3.start(files);
  onTestFinished(() => store.stop());
  const cacheDirectory = await temporaryDirectory();
  const pickVariant = async () => ({ file: '' });
  const reasons: string[] = [];
  const options = {
    cacheDirectory,
    pickVariant,
    retryMs: 1,
    onOffline: (reason: string) => reasons.push(reason),
  };
  const remote = (address = 's3://models/qwen', env = {}, isOffline = false) =>
    bucketRemote(
      parseBucketReference(address),
      bucketAccess({ HOME: cacheDirectory, ...store.env, ...env }, { endpoint: null, isOffline }),
      1,
    );
  const pull = (...args: Parameters<typeof remote>) => pullModel(remote(...args), options);
  return { store, pull, remote, options, cacheDirectory, reasons };
}

async function expectContent(path: string, content: Buffer): Promise<void> {
  expect((await readFile(path)).equals(content)).toBe(true);
}

test('downloads what a model needs, once, with signed requests', async () => {
  const { store, pull } = await storeWith();
  const folder = await pull();
  expect((await readdir(folder)).toSorted()).toEqual([
    'config.json',
    'model.safetensors',
    'tokenizer.json',
  ]);
  await expectContent(join(folder, 'model.safetensors'), WEIGHTS);
  const { length } = store.downloads;
  expect(length).toBe(3);
  expect(await pull('s3://models/qwen/')).toBe(folder);
  expect(store.downloads).toHaveLength(length);
});

/** Bytes of the file that is being downloaded. */
async function partialBytes(cacheDirectory: string): Promise<number> {
  const names = await readdir(cacheDirectory, { recursive: true });
  const partial = names.find((name) => name.endsWith('.partial'));
  return partial === undefined ? 0 : (await stat(join(cacheDirectory, partial))).size;
}

test('goes on where it broke off, and sends no byte twice', async () => {
  const { store, pull, cacheDirectory } = await storeWith();
  store.cutAfter = 70_000;
  store.untilRead = (numBytes) =>
    vi.waitUntil(async () => (await partialBytes(cacheDirectory)) === numBytes, 10_000);
  const folder = await pull();
  await expectContent(join(folder, 'model.safetensors'), WEIGHTS);
  const small = FILES['qwen/config.json'].length + FILES['qwen/tokenizer.json'].length;
  expect(store.sent).toBe(WEIGHTS.length + small);
  expect(store.downloads.filter((path) => path.endsWith('bytes=280000-'))).toHaveLength(1);
});

test('takes a changed object as a new state, beside the old one, and not what is aside', async () => {
  const { store, pull } = await storeWith();
  const folder = await pull();
  store.put('qwen/README.md', 'changed');
  expect(await pull()).toBe(folder);
  const changed = Buffer.concat([WEIGHTS.subarray(1), WEIGHTS.subarray(0, 1)]);
  store.put('qwen/model.safetensors', changed);
  const next = await pull();
  expect(next).not.toBe(folder);
  await expectContent(join(next, 'model.safetensors'), changed);
  await expectContent(join(folder, 'model.safetensors'), WEIGHTS);
});

test.each([true, false])(
  'does not mix an object with the one it became (If-Match: %s)',
  async (heeds) => {
    const { store, pull, cacheDirectory } = await storeWith();
    store.heedsIfMatch = heeds;
    store.answer = ({ url = '', method }) => {
      if (method === 'GET' && url.endsWith('/model.safetensors')) {
        store.cutAfter = 1000;
        if (store.downloads.length > 3) store.put('qwen/model.safetensors', randomBytes(300_000));
      }
      return false;
    };
    await expect(pull()).rejects.toThrow('model.safetensors changed while it was downloaded');
    const all = await readdir(cacheDirectory, { recursive: true });
    expect(all.filter((path) => path.endsWith('.safetensors'))).toEqual([]);
  },
);

test('is offline with what was downloaded', async () => {
  const { store, pull, reasons } = await storeWith();
  await expect(pull('s3://models/qwen', {}, true)).rejects.toThrow(
    's3://models/qwen is not on this machine',
  );
  const folder = await pull();
  const { length } = store.requests;
  expect(await pull('s3://models/qwen', {}, true)).toBe(folder);
  expect(store.requests).toHaveLength(length);
  store.stop();
  expect(await pull()).toBe(folder);
  expect(reasons).toEqual([`${store.endpoint} cannot be reached`]);
});

test('takes a GGUF file that the address names, with its parts', async () => {
  const { store, pull } = await storeWith({
    'a/big-Q4_K_M-00001-of-00002.gguf': 'one',
    'a/big-Q4_K_M-00002-of-00002.gguf': 'two',
    'a/big-Q8_0.gguf': 'other',
  });
  const path = await pull('s3://models/a/big-Q4_K_M-00001-of-00002.gguf');
  expect(await readFile(path, 'utf8')).toBe('one');
  expect(store.downloads.map((each) => each.slice(2))).toEqual([
    'big-Q4_K_M-00001-of-00002.gguf',
    'big-Q4_K_M-00002-of-00002.gguf',
  ]);
});

test('takes an adapter', async () => {
  const config = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: ['q_proj'] };
  const { remote, options } = await storeWith({
    'lora/adapter_config.json': JSON.stringify(config),
    'lora/adapter_model.safetensors': WEIGHTS,
  });
  const folder = await pullAdapter(remote('s3://models/lora'), options);
  await expectContent(join(folder, 'adapter_model.safetensors'), WEIGHTS);
});

test('takes keys with characters that addresses have', async () => {
  const { pull } = await storeWith({
    "a b/ü+&=%?'(1)*/config.json": JSON.stringify(PRESETS.tiny),
    "a b/ü+&=%?'(1)*/model.safetensors": WEIGHTS,
  });
  const folder = await pull("s3://models/a b/ü+&=%?'(1)*");
  await expectContent(join(folder, 'model.safetensors'), WEIGHTS);
});

test('needs no credentials where all may read, and says so where not', async () => {
  const { store, pull } = await storeWith();
  const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };
  await expect(pull('s3://models/qwen', none)).rejects.toThrow(
    /refuses the list of s3:\/\/models\/qwen \(403 AccessDenied\): it is not public/,
  );
  store.isPublic = true;
  await pull('s3://models/qwen', none);
});

test('shows no secret when credentials are wrong', async () => {
  const { pull } = await storeWith();
  const error = await pull('s3://models/qwen', { AWS_SECRET_ACCESS_KEY: 'wrong-secret' }).catch(
    String,
  );
  expect(error).toMatch(/403 SignatureDoesNotMatch\): the credentials of AWS_ACCESS_KEY_ID/);
  expect(error).not.toMatch(/secret/i);
});

test('says what is not there', async () => {
  const { pull } = await storeWith();
  await expect(pull('s3://other/qwen')).rejects.toThrow('has no bucket other');
  await expect(pull('s3://models/none')).rejects.toThrow('has nothing below s3://models/none/');
});

test('asks Google with its own address, and with keys that somebody wrote down', async () => {
  const { store, remote, options } = await storeWith();
  store.region = 'auto';
  const google = remote('gs://models/qwen', {
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    STORAGE_EMULATOR_HOST: store.endpoint,
  });
  const folder = await pullModel(google, options);
  await expectContent(join(folder, 'model.safetensors'), WEIGHTS);
  const given = { AWS_ACCESS_KEY_ID: '', AWS_CONTAINER_CREDENTIALS_FULL_URI: store.endpoint };
  const env = { ...given, STORAGE_EMULATOR_HOST: store.endpoint };
  await expect(pullModel(remote('gs://models/qwen', env), options)).rejects.toThrow(
    'it is not public',
  );
});

test('tries again where the store is busy', async () => {
  const { store, pull } = await storeWith();
  let busy = 4;
  store.answer = (_, response) => {
    busy--;
    if (busy < 0 || busy % 2 === 0) return false;
    fail(response, 503, 'SlowDown');
    return true;
  };
  await pull();
  expect(busy).toBeLessThan(0);
});

const sha256 = createHash('sha256').update(WEIGHTS).digest('base64');
const PART = 100_000;

test.each([
  ['MD5', undefined, {}],
  ['MD5 of equal parts', [PART, PART, PART], {}],
  ['MD5 of other parts', [PART, 2 * PART - 1, 1], {}],
  ['MD5 of parts that could be equal', [PART + 1, PART - 1, PART], {}],
  ['SHA-256', undefined, { 'x-amz-checksum-sha256': sha256 }],
  [
    'CRC-32',
    undefined,
    { 'x-amz-server-side-encryption': 'aws:kms', 'x-amz-checksum-crc32': 'crc' },
  ],
])('checks contents by %s', async (_, parts, headers) => {
  const { crc32 } = await import('node:zlib');
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(WEIGHTS));
  const { store, pull } = await storeWith();
  store.put('qwen/model.safetensors', WEIGHTS, parts);
  const object = store.objects.get('qwen/model.safetensors');
  if (object === undefined) throw new Error('it was put');
  object.headers = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value === 'crc' ? crc.toString('base64') : value,
    ]),
  );
  if ('x-amz-checksum-sha256' in headers) object.etag = 'f'.repeat(32);
  await pull();

  const damaged = await storeWith();
  damaged.store.objects.set('qwen/model.safetensors', {
    ...object,
    content: Buffer.concat([WEIGHTS.subarray(0, -1), Buffer.of((WEIGHTS.at(-1) ?? 0) ^ 1)]),
  });
  await expect(damaged.pull()).rejects.toThrow('model.safetensors from http');
  await expect(damaged.pull()).rejects.toThrow('is damaged');
});

test('takes an object of which only the size is known', async () => {
  const { store, pull } = await storeWith();
  const headers = { 'x-amz-server-side-encryption': 'aws:kms' };
  store.objects.set('qwen/model.safetensors', { content: WEIGHTS, etag: 'f'.repeat(32), headers });
  await expectContent(join(await pull(), 'model.safetensors'), WEIGHTS);
});

test('reads keys, region and token of a profile', async () => {
  const { store, pull, cacheDirectory } = await storeWith();
  store.region = 'eu-test-1';
  const file = join(cacheDirectory, 'credentials');
  const config = join(cacheDirectory, 'config');
  await writeFile(
    file,
    `# keys\n[other]\naws_access_key_id = no\n[work]\naws_access_key_id=${store.keys.id}\n` +
      `aws_secret_access_key = ${store.keys.secret}\naws_session_token = token-1\n`,
  );
  await writeFile(
    config,
    `[profile work]\nregion = eu-test-1\nendpoint_url = ${store.endpoint}\ns3 =\n  region = no\n`,
  );
  const env = {
    AWS_ENDPOINT_URL: '',
    AWS_ACCESS_KEY_ID: '',
    AWS_SECRET_ACCESS_KEY: '',
    AWS_SHARED_CREDENTIALS_FILE: file,
    AWS_CONFIG_FILE: config,
  };
  await pull('s3://models/qwen', { ...env, AWS_PROFILE: 'work' });
  expect([...store.sessionTokens]).toEqual(['token-1']);
  await expect(pull('s3://models/qwen', { ...env, AWS_PROFILE: 'none' })).rejects.toThrow(
    'the AWS profile none, of AWS_PROFILE, is in neither',
  );
});
