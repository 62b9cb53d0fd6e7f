import { describe, expect, test, vi } from 'vitest';
import { Admission } from '../../src/front/queue/admission.ts';
import { VLLM_ALIASES } from '../../src/observability/aliases.ts';
import { familiesOf } from '../../src/observability/families.ts';
import { MetricsHub } from '../../src/observability/metrics-hub.ts';
import { FakeEngine } from '../support/fake-engine.ts';

const state = () => ({
  engine: new FakeEngine(() => []),
  admission: new Admission({ concurrency: 2, maxQueue: 1 }),
});

function hubOf(models: readonly string[], aliases = VLLM_ALIASES): MetricsHub {
  const hub = new MetricsHub({ withProcess: false, models: () => [], aliases, maxAgeMs: 0 });
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

describe('a page', () => {
  const runningOn = (page: string) =>
    /num_requests_running\{model_name="one"\} (\d)/.exec(page)?.[1];

  test('is handed out again while it is young, and renewed meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const hub = new MetricsHub({ withProcess: false, models: () => [], maxAgeMs: 500 });
      const observed = state();
      hub.of('one', observed);
      expect(runningOn(await hub.text())).toBe('0');
      await observed.admission.acquire(new AbortController().signal);
      vi.advanceTimersByTime(90);
      expect(runningOn(await hub.text())).toBe('0');
      vi.advanceTimersByTime(90);
      // Old enough to be made anew, and young enough not to wait for that.
      expect(runningOn(await hub.text())).toBe('0');
      await vi.waitFor(async () => expect(runningOn(await hub.text())).toBe('1'));
      await observed.admission.acquire(new AbortController().signal);
      vi.advanceTimersByTime(600);
      expect(runningOn(await hub.text())).toBe('2');
    } finally {
      vi.useRealTimers();
    }
  });

  test('asks the process what it takes every two seconds, and models each time', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const cpuUsage = vi.spyOn(process, 'cpuUsage');
    try {
      const hub = new MetricsHub({ withProcess: true, models: () => [], maxAgeMs: 0 });
      const observed = state();
      hub.of('one', observed);
      const first = await hub.text();
      cpuUsage.mockClear();
      await observed.admission.acquire(new AbortController().signal);
      vi.advanceTimersByTime(1900);
      const second = await hub.text();
      expect(runningOn(second)).toBe('1');
      expect(second).toContain(/^process_cpu_seconds_total .*$/m.exec(first)?.[0]);
      expect(cpuUsage).not.toHaveBeenCalled();
      vi.advanceTimersByTime(200);
      await hub.text();
      expect(cpuUsage).toHaveBeenCalled();
    } finally {
      cpuUsage.mockRestore();
      vi.useRealTimers();
    }
  });

  test('is made once for scrapes that come together', async () => {
    const hub = hubOf(['one', 'two']);
    const pages = await Promise.all([hub.text(), hub.text(), hub.text()]);
    expect(new Set(pages).size).toBe(1);
  });
});

/** As vLLM's loggers.py has them, in seconds. */
const VLLM_BUCKETS: Readonly<Record<string, readonly number[]>> = {
  time_to_first_token_seconds: [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40,
    80, 160, 640, 2560,
  ],
  inter_token_latency_seconds: [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  ],
  e2e_request_latency_seconds: [
    0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
  ],
  iteration_tokens_total: [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384],
};

test.each(Object.entries(VLLM_BUCKETS))("%s has all of vLLM's buckets", async (name, buckets) => {
  const page = await hubOf(['one']).text();
  const found = page.matchAll(new RegExp(`chairlift_${name}_bucket\\{le="([\\d.]+)"`, 'g'));
  const bounds = Array.from(found, ([, bound]) => Number(bound));
  expect(bounds.length).toBeGreaterThan(10);
  expect(buckets.filter((bound) => !bounds.includes(bound))).toEqual([]);
});
