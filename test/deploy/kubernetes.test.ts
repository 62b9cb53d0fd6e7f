/** Manifests are what Kubernetes and its extensions take, and fit the server that they run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { SERVE_FLAGS } from '../../src/settings/flag-sets.ts';
import { variablesOf } from '../../src/settings/flags/flag-spec.ts';
import { specOf } from '../../src/settings/options.ts';
import { startServer } from '../server/support/test-server.ts';
import { needs } from '../support/needs.ts';
import { settingsFrom } from '../support/settings.ts';
import {
  COMPONENTS,
  documents,
  FOLDER,
  loadSchemas,
  type Manifest,
  render,
  RENDERER,
  renderSite,
  schemas,
  SITES,
  texts,
} from './manifests.ts';

const { version: VERSION } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));

const files = texts();
const text = (path: string) => files.get(path) ?? '';

/** In the order of the manifests. */
function imagesOf(manifests: readonly Manifest[]): string[] {
  const json = JSON.stringify(manifests);
  return Array.from(json.matchAll(/"image":"([^"]*)"/g), ([, image = '']) => image);
}

test('every component is in a site that is tested', () => {
  expect([...new Set(SITES.flat())].toSorted()).toEqual(COMPONENTS.toSorted());
});

describe('the site', needs(RENDERER), () => {
  test.each(SITES.map((components) => [components]))(
    'with %j has one image, set in one place',
    (components) => {
      const images = new Set(imagesOf(renderSite(...components)));
      expect([...images]).toEqual([`registry.example/chairlift:${VERSION}`]);
    },
  );

  test('takes another image for all containers', () => {
    const renamed = (kustomization: string) =>
      kustomization
        .replace('registry.example/chairlift', 'ghcr.io/someone/llm')
        .replace(`newTag: ${VERSION}`, 'newTag: mine')
        .replace('#  - ../model-from-hub', '  - ../model-from-hub');
    expect(imagesOf(render('site', renamed))).toEqual(Array(2).fill('ghcr.io/someone/llm:mine'));
    expect(imagesOf(render('kserve', renamed))).toEqual(['ghcr.io/someone/llm:mine']);
  });

  test('leaves the number of replicas to an autoscaler, if there is one', () => {
    const replicasOf = (...components: string[]) =>
      z
        .object({ spec: z.object({ replicas: z.number().optional() }) })
        .parse(renderSite(...components).find(({ kind }) => kind === 'Deployment')).spec.replicas;
    expect(replicasOf()).toBe(3);
    expect(replicasOf('single-replica')).toBe(1);
    expect(replicasOf('queue-depth')).toBeUndefined();
    expect(replicasOf('keda')).toBeUndefined();
  });
});

test('every image is the one that a kustomization replaces, in this version', () => {
  const named = [...files].flatMap(([path, each]) =>
    Array.from(each.matchAll(/^ *-? *image: (.*)$/gm), ([, image = '']) => ({ path, image })),
  );
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter(({ image }) => image !== `chairlift:${VERSION}`)).toEqual([]);
  for (const path of ['site', 'kserve']) {
    const { images } = z
      .object({ images: z.tuple([z.object({ name: z.string(), newTag: z.string() })]) })
      .parse(parse(text(`${path}/kustomization.yaml`)));
    expect(images).toMatchObject([{ name: 'chairlift', newTag: VERSION }]);
  }
});

test('no pod gets variables of Services: CHAIRLIFT_PORT is a flag', () => {
  const pod = z.looseObject({});
  const kinds = z.union([
    // Without a selector it is a patch.
    z
      .object({
        spec: z.object({ selector: z.looseObject({}), template: z.object({ spec: pod }) }),
      })
      .transform(({ spec }) => spec.template.spec),
    z.object({ spec: z.object({ predictor: pod }) }).transform(({ spec }) => spec.predictor),
  ]);
  const pods = [...files.values()]
    .flatMap((each) => documents(each))
    .flatMap((manifest) => {
      const whole = kinds.safeParse(manifest);
      return whole.success ? [whole.data] : [];
    });
  expect(pods.length).toBe(2);
  expect(pods.filter(({ enableServiceLinks }) => enableServiceLinks !== false)).toEqual([]);
});

test('the keys may come from a Secret, and the name of the Service is allowed without', () => {
  const [container] = Deployment.parse(parse(text('base/deployment.yaml'))).spec.template.spec
    .containers;
  expect(container.envFrom).toEqual([{ secretRef: { name: 'chairlift', optional: true } }]);
  expect(container.env).toContainEqual({
    name: 'CHAIRLIFT_ALLOWED_HOST',
    value: 'chairlift.$(POD_NAMESPACE)',
  });
  const init = z
    .object({ initContainers: z.tuple([z.object({ envFrom: z.unknown() })]) })
    .parse(
      z
        .object({ spec: z.object({ template: z.object({ spec: z.unknown() }) }) })
        .parse(parse(text('model-from-hub/deployment.yaml'))).spec.template.spec,
    );
  expect(init.initContainers[0].envFrom).toEqual(container.envFrom);
});

describe('schemas', needs(schemas(), RENDERER), () => {
  let problemsOf: (manifest: Manifest) => string[];
  beforeAll(() => {
    problemsOf = loadSchemas();
  });

  test.each(SITES.map((components) => [components]))(
    'the site with %j is what a cluster takes',
    (components) => {
      expect(renderSite(...components).flatMap(problemsOf)).toEqual([]);
    },
  );

  test('kserve is what a cluster takes', () => {
    expect(render('kserve').flatMap(problemsOf)).toEqual([]);
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
const environment = z.array(z.object({ name: z.string(), value: z.string().optional() }));
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
            envFrom: z.array(z.unknown()),
            startupProbe: probe,
            readinessProbe: probe,
            livenessProbe: probe,
            lifecycle: z.object({
              preStop: z.object({ sleep: z.object({ seconds: z.number() }) }),
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
    const flags = z
      .object({ 'drain-delay': z.number(), 'shutdown-timeout': z.number() })
      .parse(parse(text('base/chairlift.yaml')));
    const preStop = container.lifecycle.preStop.sleep.seconds;
    const drain = flags['drain-delay'] + flags['shutdown-timeout'];
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + drain + 5);
  });

  test('has a configuration file that the server takes', async () => {
    const path = join(FOLDER, 'base/chairlift.yaml');
    const { options } = await settingsFrom('serve', ['--config', path]);
    expect(options).toMatchObject({ kvCacheMemory: 2 ** 30, drainDelay: 10 });
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

  test('lets out what a server asks: names, a hub, Redis and traces', () => {
    const policy = z
      .object({
        spec: z.object({
          egress: z.array(
            z.strictObject({ ports: z.array(z.object({ protocol: z.string(), port: z.int() })) }),
          ),
        }),
      })
      .parse(parse(text('base/network-policy.yaml')));
    const ports = policy.spec.egress
      .flatMap((rule) => rule.ports)
      .map(({ protocol, port }) => `${protocol} ${port}`);
    expect(ports).toEqual(
      expect.arrayContaining(['UDP 53', 'TCP 53', 'TCP 443', 'TCP 6379', 'TCP 4318']),
    );
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
  const known = new Set(SERVE_FLAGS.flatMap((name) => variablesOf(specOf(name))));
  const named = [...files.values()].flatMap((each) => each.match(/CHAIRLIFT_\w+/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});
