import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chooseModel } from '../../src/serving/models/model-source.ts';
import { writeTuning } from '../../src/serving/plan/tuning.ts';
import { runToEnd, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const MODEL = 'models/foothill';
const TUNED = /tuned +by build --autotune on 2026-01-02: 1 thread, 300 tokens a step/;

const cache = await temporaryCache();
afterAll(() => cache.remove());

beforeAll(async () => {
  vi.stubEnv('CHAIRLIFT_CACHE', cache.path);
  const { decoder } = await chooseModel(
    { model: MODEL, randomWeights: undefined },
    async () => null,
  );
  await writeTuning(
    { config: decoder.config, precision: 'fp32' },
    {
      settings: { kernels: 'onnxruntime', threads: 1, maxNumBatchedTokens: 300 },
      date: '2026-01-02T03:04:05.000Z',
    },
  );
  vi.unstubAllEnvs();
});

test.each([
  ['fp32', true],
  // Nothing was measured for it.
  ['int8', false],
])('a server in %s takes what was tuned, and says so: %s', async (precision, isTuned) => {
  const server = await startServer(['--model', MODEL, '--precision', precision], cache.env);
  await server.stop();
  expect(TUNED.test(server.output())).toBe(isTuned);
});

test('a GPU is not tuned', async () => {
  const { code, output } = await runToEnd(
    ['build', '--model', MODEL, '--autotune', '--device', 'cuda'],
    cache.env,
  );
  expect(output).toMatch(/chairlift: .*(cuda does not work here|--autotune needs --device cpu)/);
  expect(code).not.toBe(0);
});
