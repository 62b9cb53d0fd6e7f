/** Volumes of the cluster: folders of this machine, which both nodes see. */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Kubectl } from '../../../scripts/kubernetes/cluster/kubectl.ts';
import { STATE } from '../../../scripts/kubernetes/cluster/state.ts';

/** Gives a folder to the next claim of such a mode, whatever its size up to 100 GiB. */
export async function applyVolume(
  kubectl: Kubectl,
  mode: 'ReadOnlyMany' | 'ReadWriteMany',
  path: string,
): Promise<void> {
  const name = basename(path);
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: { capacity: { storage: '100Gi' }, accessModes: [mode], hostPath: { path } },
  };
  const file = join(STATE, `volume-${name}.json`);
  writeFileSync(file, JSON.stringify(volume));
  await kubectl.run('apply', '-f', file);
}
