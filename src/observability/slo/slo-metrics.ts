import { Counter, Gauge, Registry } from 'prom-client';
import { type ClassRecord, SLO_KINDS, targetOf, type SloTracker } from './slo-tracker.ts';

/** Quantiles of the last requests. */
const QUANTILES = [0.5, 0.95, 0.99] as const;
/** Milliseconds that quantiles are remembered: a scrape may come every 50 ms. */
const FRESH_MS = 1000;

/** `chairlift_slo_*`: what is promised, what was kept, and the latest latencies. */
export function sloMetrics(tracker: SloTracker, now = () => performance.now()): Registry {
  const registry = new Registry();
  const registers = [registry];
  const requests: Counter<'class'> = new Counter({
    name: 'chairlift_slo_requests_total',
    help: 'Requests that ended, by service class; those that their clients gave up do not count.',
    labelNames: ['class'],
    registers,
    collect() {
      requests.reset();
      for (const { serviceClass, numRequests } of tracker.records) {
        requests.inc({ class: serviceClass.name }, numRequests);
      }
    },
  });
  const violations: Counter<'class' | 'slo'> = new Counter({
    name: 'chairlift_slo_violations_total',
    help: 'Requests for which a target was missed: `ttft`, `itl` for over 5% of the tokens, `e2e`.',
    labelNames: ['class', 'slo'],
    registers,
    collect() {
      violations.reset();
      eachKind(tracker, ({ serviceClass, numViolations }, slo) => {
        violations.inc({ class: serviceClass.name, slo }, numViolations[slo]);
      });
    },
  });
  const targets: Gauge<'class' | 'slo'> = new Gauge({
    name: 'chairlift_slo_target_seconds',
    help: 'What a service class promises 95% of its requests; +Inf is nothing.',
    labelNames: ['class', 'slo'],
    registers,
    collect() {
      eachKind(tracker, ({ serviceClass }, slo) => {
        const targetMs = targetOf(serviceClass, slo) ?? Infinity;
        targets.set({ class: serviceClass.name, slo }, targetMs / 1000);
      });
    },
  });
  let takenAt = -Infinity;
  const latencies: Gauge<'class' | 'slo' | 'quantile'> = new Gauge({
    name: 'chairlift_slo_latency_seconds',
    help: 'Of the last 1,000 requests of a service class, or 4,096 times between tokens.',
    labelNames: ['class', 'slo', 'quantile'],
    registers,
    collect() {
      if (now() - takenAt < FRESH_MS) return;
      takenAt = now();
      eachKind(tracker, ({ serviceClass, windows }, slo) => {
        const values = windows[slo].quantiles(...QUANTILES);
        for (const [index, quantile] of QUANTILES.entries()) {
          const labels = { class: serviceClass.name, slo, quantile: `${quantile}` };
          latencies.set(labels, (values[index] ?? NaN) / 1000);
        }
      });
    },
  });
  return registry;
}

function eachKind(
  { records }: SloTracker,
  action: (record: ClassRecord, slo: (typeof SLO_KINDS)[number]) => void,
): void {
  for (const record of records) for (const slo of SLO_KINDS) action(record, slo);
}
