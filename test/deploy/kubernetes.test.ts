/** Manifests are what Kubernetes and its extensions take, and fit the server that they run. */
import { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { addOptions, ALL_OPTIONS } from '../../src/cli/options.ts';
import { startServer } from '../server/support/test-server.ts';
import { EndpointPickerConfig, PLUGIN_TYPES } from './endpoint-picker-config.ts';
import {
  build,
  documents,
  hasKubectl,
  hasSchemas,
  loadSchemas,
  type Manifest,
  OVERLAYS,
  texts,
} from './manifests.ts';

if (!hasSchemas) {
  console.warn(
    '*** Kubernetes schemas are not here (npx tsx scripts/kubernetes/fetch.ts needs Go).',
  );
}
if (!hasKubectl) console.warn('*** There is no kubectl here.');
if (!hasSchemas || !hasKubectl) console.warn('*** MANIFESTS WILL NOT BE CHECKED AGAINST SCHEMAS.');

const files = texts();
const text = (path: string) => files.get(path) ?? '';

describe.skipIf(!hasSchemas || !hasKubectl)('schemas', () => {
  let problemsOf: (manifest: Manifest) => string[];
  beforeAll(() => {
    problemsOf = loadSchemas();
  });

  test.each(OVERLAYS)('%s is what a cluster takes', (overlay) => {
    const manifests = build(overlay);
    expect(manifests.length).toBeGreaterThan(1);
    expect(manifests.flatMap(problemsOf)).toEqual([]);
  });

  test('nothing wrong gets through', () => {
    const [deployment] = documents(text('base/deployment.yaml'));
    const [pool] = documents(text('inference-gateway/pool.yaml'));
    const [service] = documents(text('kserve/inference-service.yaml'));
    if (!deployment || !pool || !service) throw new Error('a manifest is missing');
    const changed = (manifest: Manifest, from: string, to: string) => {
      const json = JSON.stringify(manifest);
      expect(json).toContain(from);
      return problemsOf(JSON.parse(json.replace(from, to)) as Manifest);
    };
    expect(changed(deployment, '"readinessProbe"', '"readynessProbe"')).not.toEqual([]);
    expect(changed(deployment, '"periodSeconds":2', '"periodSeconds":"2s"')).not.toEqual([]);
    expect(changed(deployment, '"selector"', '"selektor"')).not.toEqual([]);
    expect(changed(pool, '"number":8000', '"number":80000')).not.toEqual([]);
    expect(changed(service, '"storageUri"', '"storageUrl"')).not.toEqual([]);
    expect(changed(pool, 'inference.networking.k8s.io/v1', 'example.com/v1')).not.toEqual([]);
  });
});

const probe = z.object({ httpGet: z.object({ path: z.string() }) });
const environment = z.array(z.object({ name: z.string(), value: z.string() }));
const Deployment = z.object({
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([
          z.object({
            env: environment,
            startupProbe: probe,
            readinessProbe: probe,
            livenessProbe: probe,
            lifecycle: z.object({
              preStop: z.object({
                exec: z.object({ command: z.tuple([z.literal('sleep'), z.coerce.number()]) }),
              }),
            }),
          }),
        ]),
      }),
    }),
  }),
});

describe('the deployment', () => {
  const { selector, template } = Deployment.parse(parse(text('base/deployment.yaml'))).spec;
  const [container] = template.spec.containers;

  test('gives a replica the time that its drain takes', () => {
    const seconds = (name: string) =>
      Number(container.env.find((each) => each.name === name)?.value);
    const [, preStop] = container.lifecycle.preStop.exec.command;
    const drain = seconds('CHAIRLIFT_DRAIN_DELAY') + seconds('CHAIRLIFT_SHUTDOWN_TIMEOUT');
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + drain + 5);
  });

  test('asks probes that a server has', async () => {
    const server = await startServer();
    for (const { httpGet } of [
      container.startupProbe,
      container.readinessProbe,
      container.livenessProbe,
    ]) {
      expect((await fetch(server.url + httpGet.path)).status).toBe(200);
    }
    await server.close();
  });

  test('and everything that selects its pods finds them', () => {
    const app = selector.matchLabels['app'];
    expect(template.metadata.labels['app']).toBe(app);
    for (const path of ['service', 'disruption-budget', 'network-policy']) {
      expect(text(`base/${path}.yaml`), path).toContain(`app: ${app}`);
    }
    expect(text('inference-gateway/pool.yaml')).toContain(`app: ${app}`);
  });
});

test('environment variables are flags', () => {
  const known = new Set(addOptions(new Command(), ALL_OPTIONS).options.map(({ envVar }) => envVar));
  const named = [...files.values()].flatMap((each) => each.match(/CHAIRLIFT_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('metrics that are scaled and routed by are in a scrape, labels too', async () => {
  const server = await startServer();
  const page = await (await fetch(`${server.url}/metrics`)).text();
  await server.close();
  const named = [...files.values()].flatMap((each) => each.match(/chairlift_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !page.includes(`# TYPE ${name} gauge`))).toEqual([]);
  const config = EndpointPickerConfig.parse(parse(text('inference-gateway/endpoint-picker.yaml')));
  const extractor = config.plugins.find(({ type }) => type === 'core-metrics-extractor');
  const engines = z
    .object({
      defaultEngine: z.string(),
      engineConfigs: z.tuple([
        z.strictObject({
          name: z.string(),
          queuedRequestsSpec: z.string(),
          runningRequestsSpec: z.string(),
          kvUsageSpec: z.string(),
          cacheInfoSpec: z.string(),
          cacheBlockSizeLabelName: z.string(),
          cacheNumBlocksLabelName: z.string(),
        }),
      ]),
    })
    .parse(extractor?.parameters);
  const [engine] = engines.engineConfigs;
  expect(engine.name).toBe(engines.defaultEngine);
  const info = new RegExp(
    `^${engine.cacheInfoSpec}\\{.*${engine.cacheBlockSizeLabelName}="\\d+",${engine.cacheNumBlocksLabelName}="\\d+"`,
    'm',
  );
  expect(page).toMatch(info);
});

test("the endpoint picker's plugins are those that it has, and are declared", () => {
  const config = EndpointPickerConfig.parse(parse(text('inference-gateway/endpoint-picker.yaml')));
  const { plugins, schedulingProfiles, dataLayer } = config;
  expect(plugins.map(({ type }) => type).filter((type) => !PLUGIN_TYPES.has(type))).toEqual([]);
  const declared = new Set(plugins.map(({ name, type }) => name ?? type));
  const used = [
    ...schedulingProfiles.flatMap((profile) => profile.plugins),
    ...(dataLayer?.sources ?? []).flatMap((source) => [source, ...source.extractors]),
  ].map(({ pluginRef }) => pluginRef);
  expect(used.length).toBeGreaterThan(4);
  expect(used.filter((name) => !declared.has(name))).toEqual([]);
});
