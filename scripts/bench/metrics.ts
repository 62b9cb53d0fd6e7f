/**
 * What a scrape of /metrics costs the front: `npx tsx scripts/bench/metrics.ts`. An endpoint picker
 * scrapes every 50 ms.
 */
import { performance } from 'node:perf_hooks';
import { Admission } from '../../src/front/queue/admission.ts';
import { NO_ALIASES, VLLM_ALIASES } from '../../src/observability/aliases.ts';
import { MetricsHub } from '../../src/observability/metrics-hub.ts';
import { FakeEngine } from '../../test/support/fake-engine.ts';

const NUM_SCRAPES = 500;

for (const numModels of [1, 8]) {
  for (const aliases of [NO_ALIASES, VLLM_ALIASES]) {
    const hub = new MetricsHub({ withProcess: true, models: () => [], aliases });
    for (let index = 0; index < numModels; index++) {
      const engine = new FakeEngine(() => []);
      hub.of(`model-${index}`, {
        engine,
        admission: new Admission({ concurrency: 1, maxQueue: 1 }),
      });
    }
    await hub.text();
    const times: number[] = [];
    const cpu = process.cpuUsage();
    let characters = 0;
    for (let scrape = 0; scrape < NUM_SCRAPES; scrape++) {
      const startedAt = performance.now();
      characters = (await hub.text()).length;
      times.push(performance.now() - startedAt);
    }
    const { user, system } = process.cpuUsage(cpu);
    const cpuMs = ((user + system) / 1000 / NUM_SCRAPES).toFixed(2);
    times.sort((a, b) => a - b);
    const at = (share: number) => `${times[Math.floor(share * NUM_SCRAPES)]?.toFixed(2)} ms`;
    const names = aliases.size > 0 ? ', with aliases' : '';
    console.log(
      `${numModels} models${names}: ${cpuMs} ms of CPU, p50 ${at(0.5)}, p99 ${at(0.99)}, ${characters} characters`,
    );
  }
}
