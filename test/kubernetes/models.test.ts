/** Pods take their model from a hub, and from a volume that they share. */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { clusterDown, clusterUp } from '../../scripts/kubernetes/cluster/cluster.ts';
import { chairliftArchive } from '../../scripts/kubernetes/cluster/images.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { STATE } from '../../scripts/kubernetes/cluster/state.ts';
import { needs } from '../support/needs.ts';
import { ClusterHub } from './support/hub-load.ts';
import { CLUSTER } from './support/requirements.ts';
import { IMAGE, Site } from './support/site.ts';
import { applyVolume } from './support/volume.ts';

const MODEL = 'models/summit';
const TOKEN = 'hf_secret';
const NUM_PODS = 3;

/** Downloads of three pods at once, on two CPUs. */
const PATCHES = `  - target: {kind: Deployment, name: chairlift}
    patch: |-
      - {op: replace, path: /spec/template/spec/initContainers/0/resources/requests/cpu, value: 100m}
`;

describe('a model of a hub', needs(...CLUSTER), () => {
  let kubectl: Kubectl;
  let site: Site | undefined;
  beforeAll(async () => {
    kubectl = await clusterUp(() => [chairliftArchive(IMAGE, 'debian')]);
  });
  afterEach(async () => {
    await site?.remove();
    site = undefined;
  });
  afterAll(clusterDown);

  /** @returns how often its weights were downloaded */
  async function downloads(namespace: string, components: readonly string[]): Promise<number> {
    const hub = await ClusterHub.start(MODEL);
    site = new Site(kubectl, namespace, components, PATCHES);
    await site.apply({ HF_ENDPOINT: ClusterHub.endpoint, HF_TOKEN: TOKEN });
    expect(await site.models()).toEqual(['qwen3-0.6b']);
    expect(await site.pods()).toHaveLength(NUM_PODS);
    const { requests, tokens } = await hub.stop();
    expect(tokens).toEqual([`Bearer ${TOKEN}`]);
    return requests.filter((path) => path.endsWith('/model.safetensors')).length;
  }

  test('is downloaded by each pod', async () => {
    expect(await downloads('hub', ['model-from-hub'])).toBe(NUM_PODS);
  });

  test('is downloaded once by pods that share a volume', async () => {
    const folder = join(STATE, 'cache');
    mkdirSync(folder);
    // Nobody changes whose folder it is, as they would with another kind of volume.
    chmodSync(folder, 0o777);
    await applyVolume(kubectl, 'ReadWriteMany', folder);
    expect(await downloads('shared', ['model-from-hub', 'cache-volume'])).toBe(1);
  });
});
