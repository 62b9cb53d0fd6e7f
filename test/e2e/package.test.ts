/** The package of `npm run package`, installed in an empty folder as users do. */
import { execFileSync } from 'node:child_process';
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stream } from '../support/http-client.ts';
import { LINUX_X64, needs } from '../support/needs.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const MB = 1e6;
/** How far sizes may be from those in the documentation. */
const TOLERANCE = 0.1;

const cache = await temporaryCache();
afterAll(() => cache.remove());
const folder = join(cache.path, 'project');
let file = '';

function run(program: string, args: readonly string[], cwd: string, env = {}): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', env: { ...process.env, ...env } });
}

/** In bytes. */
function sizeOf(path: string): number {
  if (!lstatSync(path).isDirectory()) return lstatSync(path).size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

beforeAll(() => {
  const tsx = resolve('node_modules/tsx/dist/cli.mjs');
  const args = [tsx, 'scripts/package/pack.ts', '--out', cache.path];
  file = run(process.execPath, args, '.').trim();
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{}');
  // Whatever an install script wants to download, it does not get.
  const proxy = 'http://127.0.0.1:9';
  const unreachable = {
    GLOBAL_AGENT_HTTPS_PROXY: proxy,
    npm_config_ignore_scripts: 'false',
    ONNXRUNTIME_NODE_INSTALL: undefined,
  };
  run('npm', ['install', '--no-audit', '--no-fund', file], folder, unreachable);
}, 600_000);

describe('what is installed', () => {
  it('has one library of ONNX Runtime', () => {
    const files = readdirSync(join(folder, 'node_modules'), { recursive: true }).map(String);
    const libraries = files.filter((path) => /(libonnxruntime.*|onnxruntime\.dll)$/.test(path));
    expect(libraries).toEqual([expect.stringContaining(join(process.platform, process.arch))]);
  });

  it('has the sizes that the documentation says', needs(LINUX_X64), () => {
    const docs = readFileSync('docs/getting-started.md', 'utf8');
    const paths = [file, join(folder, 'node_modules'), 'node_modules/onnxruntime-node'];
    const said = [...docs.matchAll(/(\d+) MB/g)].map(([, size]) => Number(size) * MB);
    expect(said.length).toBe(paths.length);
    for (const [index, path] of paths.entries()) {
      const size = sizeOf(path);
      expect(Math.abs((said[index] ?? NaN) / size - 1), `${path}: ${size}`).toBeLessThan(TOLERANCE);
    }
  });

  it('has a client with types', () => {
    const source = join(folder, 'client.mts');
    writeFileSync(
      source,
      `import { resumableStream } from 'chairlift/client';
       export const once: typeof fetch = resumableStream({ attempts: 1 });
       // @ts-expect-error an option that there is not
       resumableStream({ attempt: 1 });`,
    );
    const tsc = resolve('node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2023,dom'];
    run(process.execPath, [tsc, ...options, '--types', '', source], folder);
    const code = "import { resumableStream } from 'chairlift/client'; console.log(resumableStream)";
    const printed = run(process.execPath, ['--input-type=module', '--eval', code], folder);
    expect(printed).toContain('[Function');
  });
});

describe('what programs import', () => {
  it('has types, which the example keeps to', () => {
    const example = join(folder, 'in-process.mjs');
    cpSync('examples/in-process.mjs', example);
    const source = join(folder, 'in-process.mts');
    writeFileSync(
      source,
      `import { loadModel, serve, type Model, type TextDelta } from 'chairlift';
       const model: Model = await loadModel('summit', { maxModelLen: '2k', threads: 1 });
       const deltas: AsyncIterable<TextDelta> = model.stream('Once', { topP: 0.5 });
       // @ts-expect-error an option that there is not
       model.generate('Once', { maxTokns: 1 });
       // @ts-expect-error a value that there is not
       await serve({ models: ['summit'], modelControl: 'never' });
       // @ts-expect-error a setting of another command
       await serve({ inputFile: 'x' });
       // @ts-expect-error a setting of servers
       await loadModel('summit', { port: 1 });
       await using other = await loadModel('summit');
       export { deltas, other };`,
    );
    const tsc = resolve('node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
    const ofNode = ['--typeRoots', resolve('node_modules/@types'), '--types', 'node'];
    const args = [tsc, ...options, ...ofNode, '--allowJs', '--checkJs', source, example];
    expect(() => run(process.execPath, args, folder)).not.toThrow();
  });

  it('works as in the example', () => {
    const printed = run(process.execPath, ['in-process.mjs'], folder, cache.env);
    expect(printed).toContain("'23 + 45 = 68.'");
    expect(printed).toContain('GET /v1/models: 200');
  });
});

describe('npx chairlift serve', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    const command = ['npx', '--no-install', 'chairlift'];
    server = await startServer([], cache.env, { program: { command, cwd: folder } });
  });
  afterAll(() => server?.stop());

  it('answers', async () => {
    const body = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };
    const answer = await stream(`${server.url}/v1/chat/completions`, body);
    expect(answer.text).toBe('23 + 45 = 68.');
  });

  it.each(['/', '/docs'])('has the page at %s', async (path) => {
    const response = await fetch(server.url + path, { headers: { accept: 'text/html' } });
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/<!doctype html>/i);
  });
});
