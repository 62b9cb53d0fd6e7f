/**
 * Cost of a scrape of /metrics to the front: `npx tsx scripts/bench/metrics.ts`. Each makes its page,
 * or, as an endpoint picker's, comes every 50 ms and mostly finds one. `metrics-under-load.ts` asks a
 * server.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { Admission } from '../../src/front/queue/admission.ts';
import { STAGES } from '../../src/front/request-record.ts';
import { type Aliases, NO_ALIASES, VLLM_ALIASES } from '../../src/observability/aliases.ts';
import { MetricsHub } from '../../src/observability/metrics-hub.ts';
import { FakeEngine } from '../../test/support/fake-engine.ts';

const NUM_SCRAPES = 200;

/** Every stage of a request, and a model's histograms, have samples. */
function filled(numModels: number, aliases: Aliases, maxAgeMs: number): MetricsHub {
  const hub = new MetricsHub({ withProcess: true, models: () => [], aliases, maxAgeMs });
  for (let index = 0; index < numModels; index++) {
    const name = `model-${index}`;
    const engine = new FakeEngine(() => []);
    hub.of(name, { engine, admission: new Admission({ concurrency: 1, maxQueue: 1 }) });
    hub.observeStages(
      name,
      STAGES.map((stage) => ({ stage, startedAt: 0, ms: 1 })),
    );
  }
  return hub;
}

for (const [numModels, pauseMs, aliases] of [
  [1, 0, NO_ALIASES],
  [1, 50, NO_ALIASES],
  [1, 50, VLLM_ALIASES],
  [8, 0, NO_ALIASES],
  [8, 50, NO_ALIASES],
] as const) {
  const hub = filled(numModels, aliases, pauseMs === 0 ? 0 : 600);
  await hub.text();
  const times: number[] = [];
  const cpu = process.cpuUsage();
  let characters = 0;
  for (let scrape = 0; scrape < NUM_SCRAPES; scrape++) {
    if (pauseMs > 0) await setTimeout(pauseMs);
    const startedAt = performance.now();
    characters = (await hub.text()).length;
    times.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = ((user + system) / 1000 / NUM_SCRAPES).toFixed(2);
  times.sort((a, b) => a - b);
  const at = (share: number) => `${times[Math.floor(share * NUM_SCRAPES)]?.toFixed(2)} ms`;
  const how = pauseMs > 0 ? `every ${pauseMs} ms` : 'each makes its page';
  const names = aliases.size > 0 ? ', with aliases' : '';
  console.log(
    `${numModels} models, ${how}${names}: ${cpuMs} ms of CPU, p50 ${at(0.5)}, p99 ${at(0.99)}, ${characters} characters`,
  );
}
