import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { stream } from '../support/http-client.ts';
import { C_COMPILER, LINUX, needs } from '../support/needs.ts';
import { startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const directory = await temporaryCache();
afterAll(() => directory.remove());

/** Where variables of a build server are set ONNX Runtime is silent by itself. */
const NO_BUILD_SERVER = Object.fromEntries(
  ['CI', 'TF_BUILD', 'GITHUB_ACTIONS', 'JENKINS_URL', 'GITLAB_CI', 'CIRCLECI'].map((name) => [
    name,
    undefined,
  ]),
);

const source = join(import.meta.dirname, '../support/name-lookups.c');
const library = join(directory.path, 'name-lookups.so');
it(
  'starts, answers and stops without a name looked up or a file left',
  needs(LINUX, C_COMPILER),
  async () => {
    execFileSync('cc', ['-shared', '-fPIC', source, '-o', library, '-ldl']);
    const home = join(directory.path, 'home');
    const lookups = join(directory.path, 'lookups');
    await mkdir(home);
    const server = await startServer([], {
      ...NO_BUILD_SERVER,
      HOME: home,
      XDG_CACHE_HOME: undefined,
      ...directory.env,
      LD_PRELOAD: library,
      LOOKUPS_FILE: lookups,
    });
    const body = { messages: [{ role: 'user', content: 'What is 2 + 3?' }], temperature: 0 };
    expect((await stream(`${server.url}/v1/chat/completions`, body)).done).toBe(true);
    // Telemetry, where it is on, looks up its host about 9 seconds after the start.
    await sleep(12_000);
    await server.stop();
    expect(await readdir(home, { recursive: true })).toEqual([]);
    expect(existsSync(lookups) ? await readFile(lookups, 'utf8') : '').toBe('');
  },
);
