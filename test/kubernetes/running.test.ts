/** Objects of deploy/kubernetes run, and their clients do not notice when pods go. */
import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { chairliftArchive } from '../../scripts/kubernetes/cluster/images.ts';
import { clusterDown, clusterUp } from '../../scripts/kubernetes/cluster/cluster.ts';
import { KUBECONFIG } from '../../scripts/kubernetes/cluster/control-plane.ts';
import { findMachine, STATE } from '../../scripts/kubernetes/cluster/state.ts';
import { programPath } from '../../scripts/kubernetes/programs.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { needs } from '../support/needs.ts';
import { CLUSTER, HELM } from './support/requirements.ts';
import type { Seen } from './support/seen.ts';
import { IMAGE, Load, Site, USER } from './support/site.ts';
import { applyVolume } from './support/volume.ts';

const STREAMS = 32;
/** A node that no client is on. */
const DRAINED = 'node2';

describe('a cluster', needs(...CLUSTER), () => {
  let kubectl: Kubectl;
  let site: Site | undefined;
  beforeAll(async () => {
    const started = performance.now();
    kubectl = await clusterUp(() => [chairliftArchive(IMAGE, 'debian')]);
    report('up', { seconds: (performance.now() - started) / 1000 });
  });
  afterEach(async () => {
    await site?.remove();
    site = undefined;
  });
  afterAll(clusterDown);

  async function applied(
    namespace: string,
    components: readonly string[],
    secret?: Readonly<Record<string, string>>,
  ): Promise<Site> {
    site = new Site(kubectl, namespace, components);
    await site.apply(secret);
    return site;
  }

  async function restart(restarted: Site): Promise<void> {
    await restarted.kubectl('rollout', 'restart', 'deployment/chairlift');
    await restarted.settled();
  }

  async function drain(drained: Site): Promise<void> {
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=600s'];
    await kubectl.run('drain', DRAINED, ...flags);
    await drained.settled();
    expect((await drained.pods()).filter(({ node }) => node === DRAINED)).toEqual([]);
    await kubectl.run('uncordon', DRAINED);
  }

  async function kill(killed: Site): Promise<void> {
    const [pod] = await killed.pods();
    if (pod === undefined) throw new Error('there is no pod');
    await killed.kill(pod);
    const restarts = async () =>
      (await killed.pods()).find(({ name }) => name === pod.name)?.restarts;
    await expect.poll(restarts, { timeout: 60_000 }).toBe(pod.restarts + 1);
    await killed.settled();
  }

  test('runs the base as any user, on a root file system that is read-only', async () => {
    const base = await applied('rights', []);
    const code = `
      let error;
      try { require('node:fs').writeFileSync('/x', ''); } catch ({ code }) { error = code; }
      console.log(JSON.stringify([process.getuid(), error]));`;
    const [pod] = await base.pods();
    const said = await base.kubectl('exec', pod?.name ?? '', '--', 'node', '-e', code);
    expect(JSON.parse(said)).toEqual([USER, 'EROFS']);
    expect(new Set((await base.pods()).map(({ node }) => node)).size).toBe(2);
  });

  test('runs a model of a volume, as many times as an autoscaler without metrics may', async () => {
    const folder = join(STATE, 'models');
    cpSync('models/summit', join(folder, 'qwen3-0.6b'), { recursive: true });
    await applyVolume(kubectl, 'ReadOnlyMany', folder);
    const scaled = await applied('volume', ['model-from-volume', 'queue-depth']);
    await expect.poll(async () => (await scaled.pods()).length, { timeout: 60_000 }).toBe(3);
    await scaled.settled();
    expect(await scaled.models()).toEqual(['qwen3-0.6b']);
  });

  test('takes the chart', needs(HELM), async () => {
    const namespace = 'chart';
    site = new Site(kubectl, namespace, []);
    const set = ['resources.requests.cpu=100m', `runAsUser=${USER}`].map(
      (value) => `--set=${value}`,
    );
    const [program, ...install] = findMachine('control').inNetwork(programPath('helm'), 'install');
    const into = ['--create-namespace', `--namespace=${namespace}`, `--kubeconfig=${KUBECONFIG}`];
    const chart = ['chairlift', 'deploy/helm/chairlift', ...into, ...set, '--wait', '--timeout=5m'];
    await promisify(execFile)(program, [...install, ...chart]);
    await site.settled();
    expect(await site.models()).toEqual(['summit']);
  });

  describe.each([
    { name: 'base', components: [], way: 'plain', disturbances: { restart, drain } },
    {
      name: 'moving-streams',
      components: ['moving-streams'],
      way: 'resumable',
      disturbances: { restart, drain, kill },
    },
  ] as const)('with $name', ({ name, components, way, disturbances }) => {
    test(`${Object.keys(disturbances).join(', ')}: nobody notices`, async () => {
      const secret = way === 'resumable' ? { CHAIRLIFT_RESUME_KEY: 'a secret of all pods' } : {};
      const under = await applied(name, components, secret);
      for (const [what, disturb] of Object.entries(disturbances)) {
        const load = await Load.start(await under.url(), way, STREAMS);
        const started = performance.now();
        await disturb(under);
        const seconds = (performance.now() - started) / 1000;
        const seen = await load.end();
        report(`${name}, ${what}`, { seconds, ...seen });
        expect(seen).toMatchObject({ failures: [], different: 0 });
        expect(seen.answers).toBeGreaterThan(STREAMS);
      }
    });
  });
});

function report(what: string, figures: Partial<Seen> & { readonly seconds: number }): void {
  console.log(what, JSON.stringify(figures));
}
