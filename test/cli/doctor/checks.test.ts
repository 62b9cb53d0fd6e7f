import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { checkTable, ok, warning } from '../../../src/cli/doctor/check.ts';
import {
  coresCheck,
  cpuCheck,
  descriptorsCheck,
  memoryCheck,
  nodeCheck,
} from '../../../src/cli/doctor/machine-checks.ts';
import { gpuCheck, nativeChecks } from '../../../src/cli/doctor/native-checks.ts';
import {
  cacheCheck,
  placeCheck,
  portCheck,
  spaceCheck,
} from '../../../src/cli/doctor/place-checks.ts';
import { hubCheck, modelChecks, serveSettings } from '../../../src/cli/doctor/serve-checks.ts';
import { NO_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import { LINUX, needs } from '../../support/needs.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A folder with just these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'chairlift-doctor-'));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

test('versions of Node.js are compared as numbers', () => {
  const statusOf = (version: string) => nodeCheck('20.19', version).status;
  expect(['20.19.0', '20.20.2', '22.1.0'].map(statusOf)).toEqual(['ok', 'ok', 'ok']);
  expect(['20.9.0', '18.20.0'].map(statusOf)).toEqual(['broken', 'broken']);
});

test('a CPU without fast int8 is a warning', () => {
  expect(cpuCheck(true, true).status).toBe('ok');
  expect(cpuCheck(false, false)).toMatchObject({
    status: 'warning',
    advice: expect.stringContaining('fp32'),
  });
});

test('cores name the quota of the container', () => {
  const quotaOf = (quota: string) =>
    coresCheck(
      folderWith({ 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/cpu.max': `${quota} 100000\n` }),
    );
  expect(quotaOf('max').found).not.toContain('quota');
  expect(quotaOf('100000')).toMatchObject({
    status: 'ok',
    found: expect.stringMatching(/quota 1$/),
  });
  expect(quotaOf('50000')).toMatchObject({
    status: 'warning',
    found: expect.stringMatching(/^1 usable.*quota 0.5$/),
  });
});

test('memory and space have two bounds each', () => {
  const memory = [4 * GIB, GIB, 100 * MIB].map((bytes) => memoryCheck(bytes).status);
  expect(memory).toEqual(['ok', 'warning', 'broken']);
  const space = [9 * GIB, GIB, MIB].map((bytes) => spaceCheck('cache', '/c', bytes).status);
  expect(space).toEqual(['ok', 'warning', 'broken']);
});

test('file descriptors are compared with what a server may need', () => {
  const limitOf = (limit: string) =>
    descriptorsCheck(
      folderWith({ 'proc/self/limits': `Max open files            ${limit}    files\n` }),
    );
  expect(limitOf('20000     20000')).toMatchObject({ status: 'ok', found: '20000' });
  expect(limitOf('unlimited unlimited').status).toBe('ok');
  expect(limitOf('1024      1024')).toMatchObject({
    status: 'warning',
    advice: expect.stringContaining('--max-connections'),
  });
  expect(limitOf('64        64').status).toBe('broken');
  expect(descriptorsCheck(folderWith({})).status).toBe('ok');
});

test('the cache folder may not be there yet, but must not be a file', async () => {
  const folder = folderWith({ file: '' });
  const deep = join(folder, 'not', 'there', 'yet');
  expect(await cacheCheck(deep)).toMatchObject({ found: expect.stringContaining(deep) });
  expect((await cacheCheck(deep)).status).not.toBe('broken');
  for (const path of [join(folder, 'file'), join(folder, 'file', 'inside')]) {
    expect(await cacheCheck(path)).toMatchObject({
      status: 'broken',
      advice: expect.stringContaining('CHAIRLIFT_CACHE'),
    });
  }
});

test('a cache folder that nobody can write to', needs(LINUX), async () => {
  expect(await cacheCheck('/proc/sys')).toMatchObject({ status: 'broken' });
});

test('a taken port', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await portCheck('127.0.0.1', port)).toMatchObject({
    status: 'broken',
    found: `port ${port} on 127.0.0.1 is taken`,
    advice: expect.stringContaining('--port'),
  });
  await new Promise((resolve) => server.close(resolve));
  expect(await portCheck('127.0.0.1', port)).toMatchObject({ status: 'ok', advice: null });
});

test('a path for a unix socket', async () => {
  expect(await placeCheck('unix:/dev/null', 0)).toMatchObject({
    status: 'broken',
    found: '/dev/null is there and is no socket; it is left alone',
    advice: expect.stringContaining('--host'),
  });
  expect(await placeCheck('unix:/no/c.sock', 0)).toMatchObject({ status: 'ok' });
});

test('libraries that load name their versions, others why they do not', async () => {
  const failure = 'libstdc++.so.6: cannot open\nshared object file';
  const checks = await nativeChecks(async () => ({
    koffi: { version: '3.3.4' },
    onnxRuntime: { failure },
  }));
  expect(checks).toMatchObject([
    { name: 'koffi', status: 'ok', found: '3.3.4' },
    {
      name: 'ONNX Runtime',
      status: 'broken',
      found: "can't be loaded: libstdc++.so.6: cannot open",
    },
  ]);
});

test('a GPU that is there and does not work is a warning that says why', async () => {
  const none = { ...NO_DEVICE, failure: 'no driver was found' };
  const machine = { mayHaveGpu: true, probe: async () => none };
  expect(await gpuCheck(machine)).toMatchObject({
    status: 'warning',
    found: 'cuda: no driver was found; webgpu: no driver was found',
  });
  expect(await gpuCheck({ ...machine, mayHaveGpu: false })).toMatchObject({ status: 'ok' });
  const probe = async () => ({ ...NO_DEVICE, adapter: 'Fast One', memoryBytes: 8 * GIB });
  expect(await gpuCheck({ mayHaveGpu: true, probe })).toMatchObject({
    status: 'ok',
    found: 'cuda, Fast One, 8.0 GiB',
  });
});

test('the table has what to do below each problem', () => {
  const table = checkTable([ok('port', 'free'), warning('memory', '1 GiB', 'buy more')]);
  expect(table).toBe(
    ['ok       port    free', 'warning  memory  1 GiB', '                 -> buy more'].join('\n'),
  );
});

/** Checks of a model, by its name and a configuration file. */
async function checksOf(model: string | null, config?: string) {
  const { check, settings } = await serveSettings(model, config);
  return [check, ...(settings === null ? [] : await modelChecks(settings))];
}

test('a model is one that could be served', async () => {
  expect(await checksOf(null)).toMatchObject([{ name: 'settings', status: 'ok' }]);
  expect(await checksOf('models/summit')).toMatchObject([
    { name: 'settings', status: 'ok' },
    { name: 'model summit', status: 'ok', found: expect.stringContaining('parameters') },
  ]);
  expect(await checksOf('models/sumit')).toMatchObject([
    { name: 'settings', status: 'ok' },
    { name: 'model', status: 'broken', found: expect.stringContaining('models/summit') },
  ]);
  const unfinished = folderWith({ 'config.json': '{}' });
  expect((await checksOf(unfinished))[1]).toMatchObject({
    status: 'broken',
    found: expect.stringContaining('has a config.json but no'),
  });
});

test('a configuration file is one that `serve` takes', async () => {
  const folder = folderWith({
    'good.yaml': 'max-num-seqs: 2',
    'bad.yaml': 'max-num-seqs: many',
    'model.yaml': 'model: models/summit',
  });
  expect(await checksOf(null, join(folder, 'good.yaml'))).toMatchObject([{ status: 'ok' }]);
  expect(await checksOf(null, join(folder, 'bad.yaml'))).toMatchObject([
    { status: 'broken', found: expect.stringContaining('bad.yaml: max-num-seqs: many') },
  ]);
  expect(await checksOf(null, join(folder, 'model.yaml'))).toMatchObject([
    { status: 'ok' },
    { name: 'model summit', status: 'ok' },
  ]);
});

test('the hub is asked once, and not offline', async () => {
  const asked: string[] = [];
  const hub = createHttpServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(302, { location: '/elsewhere' }).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => hub.once('listening', resolve));
  const endpoint = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  expect(await hubCheck(true, { HF_ENDPOINT: endpoint })).toMatchObject({ status: 'ok' });
  expect(asked).toEqual([]);
  expect(await hubCheck(false, { HF_ENDPOINT: endpoint })).toMatchObject({
    status: 'ok',
    found: `${endpoint} answers (302)`,
  });
  expect(asked).toEqual(['HEAD /']);
  await new Promise((resolve) => hub.close(resolve));
  expect(await hubCheck(false, { HF_ENDPOINT: endpoint })).toMatchObject({
    status: 'warning',
    found: expect.stringContaining('ECONNREFUSED'),
  });
  expect(await hubCheck(false, { HF_ENDPOINT: 'nowhere' })).toMatchObject({ status: 'broken' });
});
