import { expect, it, test } from 'vitest';
import { checkRampUp } from '../../../src/cli/bench/bench.ts';
import { UsageError } from '../../../src/settings/usage-error.ts';
import { settingsFrom } from '../../support/settings.ts';

async function parse(...words: string[]) {
  const { options } = await settingsFrom('bench', words);
  checkRampUp(options);
  return options;
}

test('defaults run', async () => {
  expect(await parse()).toMatchObject({
    backend: 'openai',
    requestRate: [Infinity],
    burstiness: 1,
    goodput: {},
    metricPercentiles: [50, 90, 95, 99],
    extraBody: {},
  });
});

test('flags take several values, with commas or as words', async () => {
  const options = await parse('--request-rate', '0.5,4,inf', '--goodput', 'ttft:200', 'tpot:50.5');
  expect(options.requestRate).toEqual([0.5, 4, Infinity]);
  expect(options.goodput).toEqual({ ttft: 200, tpot: 50.5 });
  expect((await parse('--goodput', 'ttft:200,e2el:9')).goodput).toEqual({ ttft: 200, e2el: 9 });
});

test("vllm bench's address, and keys", async () => {
  const { url } = await parse('--base-url', 'http://10.0.0.1:8000');
  expect(url?.href).toBe('http://10.0.0.1:8000/');
  const env = { OPENAI_API_KEY: 'one', CHAIRLIFT_API_KEY: 'two,three' };
  expect((await settingsFrom('bench', [], env)).options.benchKey).toBe('two');
  // Not for whoever else is asked.
  expect((await settingsFrom('ps', [], { OPENAI_API_KEY: 'one' })).options.serverKey).toBe(
    undefined,
  );
});

it.each([
  [['--request-rate', '0'], '--request-rate 0: expected a number above 0, or inf'],
  [['--request-rate', '1,fast'], '--request-rate 1,fast: expected'],
  [['--goodput', 'itl:5'], 'such as ttft:200'],
  [['--goodput', 'ttft'], '--goodput ttft: expected'],
  [['--url', 'ftp://host'], '--url ftp://host: expected an address'],
  [['--extra-body', '[1'], '--extra-body [1: expected a JSON object'],
  [['--num-prompts', '1.5'], '--num-prompts 1.5: expected a whole number of at least 1'],
  [['--ramp-up-strategy', 'linear'], 'go together'],
  [
    [
      '--ramp-up-strategy=linear',
      '--ramp-up-start-rps=1',
      '--ramp-up-end-rps=2',
      '--request-rate=3',
    ],
    'replaces --request-rate',
  ],
])('refuse %j', async (words, message) => {
  await expect(parse(...words)).rejects.toThrow(UsageError);
  await expect(parse(...words)).rejects.toThrow(message);
});
