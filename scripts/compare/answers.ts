/**
 * Compares the answers of two versions: the same drawn requests to both, over all HTTP APIs.
 *
 *   npx tsx scripts/compare/answers.ts --old FOLDER [--new .] [--requests 2000] [--seed 1]
 *
 * Both folders hold a built clone. Of an answer counts its status, its type and its body, but for ids, times and
 * where a stream was cut into pieces. Prints differences by path; exits with 1 if there are any.
 */
import { parseArgs } from 'node:util';
import { startServer } from '../../test/support/server-process.ts';
import { temporaryCache } from '../../test/support/temporary-cache.ts';
import { type DrawnRequest, drawRequests } from './drawn-requests.ts';
import { plainAnswer } from './plain-answer.ts';

const SHOWN = 10;

const { values } = parseArgs({
  options: {
    old: { type: 'string' },
    new: { type: 'string', default: '.' },
    requests: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
  },
});
if (values.old === undefined) throw new Error('--old FOLDER is missing');

async function serve(cwd: string, cache: NodeJS.ProcessEnv) {
  const command = [process.execPath, 'dist/cli/main.js'];
  return startServer(['--threads=1'], cache, { program: { command, cwd } });
}

async function answerOf(url: string, { path, body }: DrawnRequest): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  });
  const type = response.headers.get('content-type') ?? 'no type';
  return `${response.status} ${type}\n${plainAnswer(await response.text())}`;
}

const caches = [await temporaryCache(), await temporaryCache()] as const;
const before = await serve(values.old, caches[0].env);
const after = await serve(values.new, caches[1].env);
const differences: string[] = [];
const counts = new Map<string, number>();
try {
  for (const request of drawRequests(Number(values.requests), Number(values.seed))) {
    const [one, other] = await Promise.all([
      answerOf(before.url, request),
      answerOf(after.url, request),
    ]);
    const kind = `${request.path} ${one.slice(0, 3)}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (one === other) continue;
    differences.push(request.path);
    if (differences.length > SHOWN) continue;
    console.log(`${request.path} ${JSON.stringify(request.body)}\n--- ${one}\n+++ ${other}\n`);
  }
} finally {
  await Promise.all([before.stop(), after.stop()]);
  await Promise.all(caches.map((cache) => cache.remove()));
}
for (const [kind, count] of [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  console.log(`${count}\t${kind}`);
console.log(`requests: ${values.requests}, differences: ${differences.length}`);
process.exitCode = differences.length === 0 ? 0 : 1;
