/** Kubernetes' own server takes every overlay, strictly, with the definitions of what extends it. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiUp, clusterDown } from '../../scripts/kubernetes/cluster/cluster.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { editedCopy, schemas, SITES, withComponents, type Edit } from '../deploy/manifests.ts';
import { needs } from '../support/needs.ts';
import { applyDefinitions } from './support/definitions.ts';
import { API } from './support/requirements.ts';

describe("Kubernetes' server", needs(...API, schemas()), () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await apiUp();
    await applyDefinitions(kubectl);
  });
  afterAll(clusterDown);

  /** Answer of the server to an overlay, of which nothing is kept. */
  async function tried(overlay: string, edit: Edit): Promise<string> {
    const folder = editedCopy(overlay, edit);
    try {
      const strict = ['--server-side', '--dry-run=server', '--validate=strict'];
      return await kubectl.run('apply', ...strict, '-k', join(folder, overlay));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test.each(SITES.map((components) => [components]))(
    'takes the site with %j',
    async (components) => {
      const answer = await tried('site', withComponents(components));
      expect(answer).toContain('deployment.apps/chairlift serverside-applied (server dry run)');
    },
  );

  test('takes kserve', async () => {
    expect(await tried('kserve', (text) => text)).toContain('inferenceservice.serving.kserve.io');
  });

  test('takes nothing wrong', async () => {
    const patched = (path: string, value: unknown) => {
      const patch = JSON.stringify([{ op: 'add', path, value }]);
      const patches = `patches: [{target: {kind: Deployment}, patch: '${patch}'}]\n`;
      return tried('site', (text) => text + patches);
    };
    await expect(patched('/spec/replics', 3)).rejects.toThrow(
      '.spec.replics: field not declared in schema',
    );
    await expect(patched('/spec/replicas', -3)).rejects.toThrow('greater than or equal to 0');
    await expect(patched('/spec/template/spec/priority', 'x')).rejects.toThrow('priority');
    await expect(patched('/spec/paused', true)).resolves.toContain('chairlift');
  });
});
