/**
 * Rates that two servers count together in Redis: what three keys get in a minute, against what they may
 * have, while each sends as fast as it can to both. Starts a redis-server of its own.
 *
 *   npx tsx scripts/bench/shared-rates.ts [--requests 100] [--tokens 1200] [--seconds 40] [--json]
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machineShape } from './lib/machine.ts';
import { startServer } from './lib/server-process.ts';
import { printTable } from './lib/table.ts';

const REDIS_PORT = 16_391;
const KEYS = ['alice', 'bob', 'carol'];
/** Tokens of a request: those of its prompt, and those that it generates. */
const PROMPT_TOKENS = 4;
const OUTPUT_TOKENS = 8;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100' },
    tokens: { type: 'string', default: '1200' },
    seconds: { type: 'string', default: '40' },
    json: { type: 'boolean', default: false },
  },
});
const agent = new Agent({ keepAlive: true });

/** @returns the tokens that it took; 0 when it was refused */
function send(url: string, key: string): Promise<number> {
  const prompt = Array.from({ length: PROMPT_TOKENS }, () => 10 + Math.floor(Math.random() * 1000));
  const body = { prompt, max_tokens: OUTPUT_TOKENS, ignore_eos: true };
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer key-${key}` };
    const post = request(`${url}/v1/completions`, { agent, method: 'POST', headers });
    post.on('error', reject);
    post.on('response', (response) => {
      response.resume();
      response.on('end', () => {
        const { statusCode } = response;
        if (statusCode === 200) resolve(PROMPT_TOKENS + OUTPUT_TOKENS);
        else if (statusCode === 429) resolve(0);
        else reject(new Error(`status ${statusCode}`));
      });
    });
    post.end(JSON.stringify(body));
  });
}

async function measure(flag: string, limit: number, folder: string) {
  const args = ['--port', `${REDIS_PORT}`, '--bind', '127.0.0.1', '--save', ''];
  const redis = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of redis.stdout) if (/Ready to accept/i.test(String(chunk))) break;
  const file = join(folder, 'keys');
  await writeFile(file, KEYS.map((key) => `${key} key-${key}\n`).join(''));
  const serve = ['--api-key-file', file, flag, `${limit}`, '--max-queue', '1000'];
  serve.push('--redis', `redis://127.0.0.1:${REDIS_PORT}`);
  const servers = [await startServer(serve), await startServer(serve)];
  const until = performance.now() + 1000 * Number(values.seconds);
  const results = await Promise.all(
    KEYS.map(async (key) => {
      let [passed, tokens, refused] = [0, 0, 0];
      await Promise.all(
        servers.flatMap(({ url }) =>
          Array.from({ length: 2 }, async () => {
            while (performance.now() < until) {
              const taken = await send(url, key);
              tokens += taken;
              if (taken > 0) passed++;
              else refused++;
            }
          }),
        ),
      );
      return { flag, key, limit, passed, tokens, refused };
    }),
  );
  await Promise.all(servers.map((server) => server.close()));
  redis.kill('SIGKILL');
  return results;
}

const folder = await mkdtemp(join(tmpdir(), 'chairlift-shared-rates-'));
try {
  const results = [
    ...(await measure('--rate-limit-requests', Number(values.requests), folder)),
    ...(await measure('--rate-limit-tokens', Number(values.tokens), folder)),
  ].map((result) => ({
    ...result,
    total: result.flag === '--rate-limit-requests' ? result.passed : result.tokens,
  }));
  if (values.json) {
    console.log(JSON.stringify({ machine: machineShape(), results }));
  } else {
    console.log(`${machineShape()}; two servers, one Redis, ${values.seconds} s of a minute\n`);
    printTable(
      ['limit', 'key', 'may have', 'got', 'off by', 'refused'],
      results.map(({ flag, key, limit, total, refused }) => [
        flag,
        key,
        `${limit}`,
        `${total}`,
        `${((100 * (total - limit)) / limit).toFixed(1)}%`,
        `${refused}`,
      ]),
    );
  }
} finally {
  agent.destroy();
  await rm(folder, { recursive: true, force: true });
}
