/** Metrics that Kubernetes scales and routes by are those a server has. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startServer } from '../server/support/test-server.ts';
import { EndpointPickerConfig, PLUGIN_TYPES } from './endpoint-picker-config.ts';
import { texts } from './manifests.ts';

const files = texts();
const pickerConfig = () =>
  EndpointPickerConfig.parse(parse(files.get('inference-gateway/endpoint-picker.yaml') ?? ''));

test('metrics that are scaled and routed by are in a scrape, labels too', async () => {
  const server = await startServer();
  const page = await (await fetch(`${server.url}/metrics`)).text();
  await server.close();
  // Rules have a test of their own.
  const scaling = [...files].filter(([path]) => path !== 'monitoring/rules.yaml');
  const named = scaling.flatMap(([, each]) => each.match(/chairlift_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !page.includes(`# TYPE ${name} gauge`))).toEqual([]);
  const config = pickerConfig();
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
  const config = pickerConfig();
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
