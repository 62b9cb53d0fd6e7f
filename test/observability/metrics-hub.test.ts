import { expect, test } from 'vitest';
import { Admission } from '../../src/front/queue/admission.ts';
import { VLLM_ALIASES } from '../../src/observability/aliases.ts';
import { familiesOf } from '../../src/observability/families.ts';
import { MetricsHub } from '../../src/observability/metrics-hub.ts';
import { FakeEngine } from '../support/fake-engine.ts';

const state = () => ({
  engine: new FakeEngine(() => []),
  admission: new Admission({ concurrency: 1, maxQueue: 1 }),
});

function hubOf(models: readonly string[], aliases = VLLM_ALIASES): MetricsHub {
  const hub = new MetricsHub({ withProcess: false, models: () => [], aliases });
  for (const model of models) hub.of(model, state());
  return hub;
}

test('each metric is there once, with the samples of all models', async () => {
  const families = familiesOf(await hubOf(['one', 'two']).text());
  const names = families.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const running = families.find(({ name }) => name === 'chairlift_num_requests_running');
  expect(running?.samples.split('\n')).toEqual([
    'chairlift_num_requests_running{model_name="one"} 0',
    'chairlift_num_requests_running{model_name="two"} 0',
  ]);
});

test("vLLM's names say the same as ours, and no name is of a metric that is not there", async () => {
  const families = new Map(
    familiesOf(await hubOf(['one']).text()).map((family) => [family.name, family]),
  );
  for (const [name, aliases] of VLLM_ALIASES) {
    const own = families.get(name);
    for (const alias of aliases) {
      const other = families.get(alias);
      expect(other?.samples.replaceAll(alias, name)).toBe(own?.samples);
      expect(other?.head.replaceAll(alias, name)).toBe(own?.head);
      expect(other?.samples).toContain(alias);
    }
  }
  const sample = families.get('vllm:gpu_cache_usage_perc')?.samples;
  expect(sample).toBe('vllm:gpu_cache_usage_perc{model_name="one"} 0');
  const buckets = families.get('vllm:time_to_first_token_seconds')?.samples ?? '';
  expect(buckets).toMatch(/^vllm:time_to_first_token_seconds_bucket\{.*le="0.001"/m);
});

test('without the flag there are none', async () => {
  expect(await hubOf(['one'], new Map()).text()).not.toContain('vllm:');
});

test('a model that is loaded again counts steps of its new engine only', async () => {
  const hub = hubOf([]);
  const [before, after] = [state(), state()];
  hub.of('one', before);
  hub.of('one', after);
  expect(before.engine.numListeners).toBe(0);
  expect(after.engine.numListeners).toBe(1);
});
