/** The chart in deploy/helm makes the objects that deploy/kubernetes has. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { KUBERNETES_VERSION, programPath } from '../../scripts/kubernetes/programs.ts';
import { HELM } from '../kubernetes/support/requirements.ts';
import { needs } from '../support/needs.ts';
import { documents, type Manifest, RENDERER, renderSite } from './manifests.ts';

const CHART = 'deploy/helm/chairlift';

/** @throws Error with what it printed, when it fails */
function helm(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(programPath('helm'), args);
  if (status !== 0) throw new Error(stdout.toString() + stderr.toString());
  return stdout.toString();
}

/** @param values such as `replicas=1` */
function rendered(...values: readonly string[]): Manifest[] {
  const set = values.map((value) => `--set=${value}`);
  const kubernetes = `--kube-version=${KUBERNETES_VERSION}`;
  return documents(helm('template', 'chairlift', CHART, kubernetes, ...set));
}

const configSchema = z.object({ data: z.object({ 'chairlift.yaml': z.string() }) });

/** By kind and name; flags as they are read. */
function byName(manifests: readonly Manifest[]): Record<string, unknown> {
  const entries = manifests.map((manifest) => {
    const config = configSchema.safeParse(manifest);
    const flags = config.success ? { data: parse(config.data.data['chairlift.yaml']) } : {};
    return [`${manifest.kind} ${manifest.metadata.name}`, { ...manifest, ...flags }];
  });
  return Object.fromEntries(entries);
}

test('the chart is of this version', () => {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  const chart = parse(readFileSync(`${CHART}/Chart.yaml`, 'utf8'));
  expect(chart).toMatchObject({ version, appVersion: version });
});

describe('the chart', needs(HELM), () => {
  test('is one that Helm finds nothing wrong with', () => {
    expect(helm('lint', '--strict', CHART)).toContain('0 chart(s) failed');
  });

  describe('makes', needs(RENDERER), () => {
    test.each([
      { components: [], values: [] },
      { components: ['moving-streams'], values: ['movingStreams=true'] },
      { components: ['queue-depth'], values: ['autoscaling.enabled=true'] },
      { components: ['single-replica'], values: ['replicas=1'] },
      {
        components: ['model-from-volume'],
        values: ['model.claim=chairlift-models', 'model.path=qwen3-0.6b'],
      },
    ])('the objects of the site with $components', ({ components, values }) => {
      // A chart takes a claim that is there.
      const site = renderSite(...components).filter(({ kind }) => kind !== 'PersistentVolumeClaim');
      expect(byName(rendered(...values))).toEqual(byName(site));
    });
  });

  test('gives a pod the time that its flags take', () => {
    const made = JSON.stringify(rendered('flags.shutdown-timeout=300', 'flags.drain-delay=20'));
    expect(made).toContain('"terminationGracePeriodSeconds":330');
    expect(made).toContain('shutdown-timeout: 300');
  });

  test.each([
    ['replica=1', 'replica'],
    ['replicas=0', 'replicas'],
    ['runAsUser=0', 'runAsUser'],
    ['flags.drain-delay=soon', 'drain-delay'],
    ['model.path=/models/qwen', 'path'],
  ])('takes no %s', (value, told) => {
    expect(() => rendered(value)).toThrow(told);
  });
});
