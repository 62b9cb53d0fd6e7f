/** Rules and dashboards ask for what a server has, and every alert is explained. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { DASHBOARDS } from '../../scripts/grafana/dashboards.ts';
import { prometheusRule, RULES_MANIFEST } from '../../scripts/prometheus/prometheus-rule.ts';
import { toGrafana } from '../../scripts/grafana/panels.ts';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { CacheCounter } from '../../src/front/response-cache/cache-counter.ts';
import { registerCacheMetrics } from '../../src/observability/cache-metrics.ts';
import { registerUsageMetrics } from '../../src/server/rates/usage-metrics.ts';
import { Usage } from '../../src/server/rates/usage.ts';
import { MetricsHub } from '../../src/observability/metrics-hub.ts';
import { post } from '../server/support/client.ts';
import { startServer } from '../server/support/test-server.ts';
import {
  ALERTS,
  DASHBOARD_EXPRESSIONS,
  RULE_EXPRESSIONS,
  RULE_TESTS,
  RULES,
  STORED_DASHBOARDS,
} from './monitored.ts';

/** Added by Prometheus. */
const OWN_LABELS = ['job', 'instance'];

/** Labels that the samples of every metric in a scrape have. */
const labels = new Map<string, Set<string>>();

function read(page: string): void {
  for (const [, name = '', type] of page.matchAll(/^# TYPE (\S+) (\w+)$/gm)) {
    const endings = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const ending of endings) {
      if (!labels.has(`${name}${ending}`)) labels.set(`${name}${ending}`, new Set(OWN_LABELS));
    }
  }
  for (const [, name = '', pairs = ''] of page.matchAll(/^(\w+)\{(.*)\} \S+$/gm)) {
    for (const [, label = ''] of pairs.matchAll(/(\w+)="/g)) labels.get(name)?.add(label);
  }
}

/** Metrics of a server whose requests had keys and answers from a cache. */
async function pageOfClients(): Promise<string> {
  const registry = new Registry();
  const usage = new Usage();
  usage.add('a-key', 'a-model', { requests: 1 });
  registerUsageMetrics(registry, usage);
  const counter = new CacheCounter({ stats: { evictions: 0, errors: 0, entries: 0, bytes: 0 } });
  registerCacheMetrics(registry, { caches: new Map([['generation', counter]]), redis: null });
  return registry.metrics();
}

beforeAll(async () => {
  const server = await startServer();
  await (await post(server, '/v1/completions', { prompt: 'Hi', max_tokens: 2 })).text();
  read(await (await fetch(`${server.url}/metrics`)).text());
  await server.close();
  read(await new MetricsHub({ withProcess: true, models: () => [] }).text());
  read(await pageOfClients());
  // A model's load is not seen by the test server.
  for (const part of ['sum', 'count'])
    labels.get(`chairlift_model_load_seconds_${part}`)?.add('model_name');
  labels.get('chairlift_model_evictions_total')?.add('model_name');
  // Nobody is refused there.
  labels.get('chairlift_rate_limited_total')?.add('unit');
});

describe.each([
  ['rules', RULE_EXPRESSIONS],
  ['dashboards', DASHBOARD_EXPRESSIONS.join('\n')],
])('%s', (_name, expressions) => {
  const selectors = Array.from(
    expressions.matchAll(/\b((?:chairlift|process|nodejs)_\w+)(?:\{([^}]*)\})?/g),
    ([, metric = '', matchers = '']) => ({
      metric,
      matched: Array.from(matchers.matchAll(/(\w+)\s*(?:=|!)/g), ([, label = '']) => label),
    }),
  );

  test('name metrics that a server has, and labels that these have', () => {
    expect(selectors.length).toBeGreaterThan(10);
    const unknown = selectors.flatMap(({ metric, matched }) => {
      const known = labels.get(metric);
      if (known === undefined) return [metric];
      return matched.filter((label) => !known.has(label)).map((label) => `${metric}{${label}}`);
    });
    expect(unknown).toEqual([]);
  });

  test('sum by labels that there are', () => {
    const all = new Set([...labels.values()].flatMap((some) => [...some]).concat('le'));
    const grouped = Array.from(expressions.matchAll(/(?:by|on) \(([^)]+)\)/g), ([, list = '']) =>
      list.split(',').map((label) => label.trim()),
    ).flat();
    expect(grouped.filter((label) => !all.has(label))).toEqual([]);
  });
});

describe('rules', () => {
  test("are the operator's, too, as scripts/prometheus/write.ts writes them", () => {
    const stored: unknown = parse(readFileSync(RULES_MANIFEST, 'utf8'));
    expect(stored).toEqual(parse(prometheusRule(RULES)));
  });

  test('link to the runbook where people read it, if that is said', () => {
    for (const base of [
      'https://git.example/chairlift/main',
      'https://git.example/chairlift/main/',
    ]) {
      const written = prometheusRule(RULES, base);
      const links = Array.from(written.matchAll(/runbook_url: (\S+)/g), ([, link = '']) => link);
      expect([...new Set(links)]).toEqual(
        ALERTS.map((alert) => `${base.replace(/\/$/, '')}/docs/runbook.md#${alert.toLowerCase()}`),
      );
    }
    expect(() => prometheusRule(RULES, 'wiki')).toThrow('Invalid URL');
    const site = readFileSync('deploy/kubernetes/site/kustomization.yaml', 'utf8');
    expect(site).toContain('scripts/prometheus/write.ts --runbooks https://');
  });

  test('use recorded series that are recorded', () => {
    const recorded = Array.from(RULES.matchAll(/- record: (\S+)/g), ([, name = '']) => name);
    const used = Array.from(RULE_EXPRESSIONS.matchAll(/\bchairlift:[\w:]+/g), ([name]) => name);
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter((name) => !recorded.includes(name))).toEqual([]);
  });

  test.each(ALERTS)('%s has a section of the runbook that it points to, and a test', (alert) => {
    const runbook = readFileSync('docs/runbook.md', 'utf8');
    expect(runbook).toContain(`\n## ${alert}\n`);
    expect(RULES).toContain(`runbook_url: docs/runbook.md#${alert.toLowerCase()}\n`);
    const fires = new RegExp(`alertname: ${alert}\n *exp_alerts:\n *- exp_labels`);
    expect(RULE_TESTS).toMatch(fires);
  });

  test('the runbook has no sections of other alerts', () => {
    const runbook = readFileSync('docs/runbook.md', 'utf8');
    const sections = Array.from(runbook.matchAll(/^## (\w+)$/gm), ([, name = '']) => name);
    expect(sections.toSorted()).toEqual(ALERTS.toSorted());
  });
});

describe.each(DASHBOARDS.map((dashboard) => [dashboard.file, dashboard] as const))(
  'dashboard %s',
  (file, dashboard) => {
    test('is what scripts/grafana/write.ts writes', () => {
      expect(STORED_DASHBOARDS.get(file)).toEqual(toGrafana(dashboard));
    });

    test('has no two panels of one id or in one place', () => {
      const panels = STORED_DASHBOARDS.get(file)?.panels ?? [];
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
    });
  },
);
