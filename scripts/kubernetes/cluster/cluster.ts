/** A whole cluster on this machine, for tests. */
import { until } from '../../../test/support/processes.ts';
import { KUBECONFIG, startControllers, startServer } from './control-plane.ts';
import { pauseArchive } from './images.ts';
import { Kubectl } from './kubectl.ts';
import { makeBridge } from './network.ts';
import { startNode } from './node.ts';
import { begin, end, findMachine, startMachine } from './state.ts';

/** Both are enough to move pods from one to the other. */
const NODES = [1, 2];
export const NODE_NAMES = NODES.map((index) => `node${index}`);

/**
 * Only what takes objects.
 * @throws Error when there is a cluster already, or a part does not start
 */
export async function apiUp(): Promise<Kubectl> {
  begin();
  const control = await startMachine('control');
  await makeBridge(control);
  await startServer(control);
  return kubectl();
}

/** With two nodes. @param archives of images that pods take */
export async function clusterUp(archives: () => readonly string[]): Promise<Kubectl> {
  const admin = await apiUp();
  const control = findMachine('control');
  await startControllers(control);
  const images = [pauseArchive(), ...archives()];
  await Promise.all(NODES.map((index) => startNode(control, index, images)));
  const names = NODE_NAMES.map((name) => `node/${name}`);
  await until(() => admin.succeeds('get', ...names), 'the coming of the nodes');
  await admin.run('wait', '--for=condition=Ready', '--timeout=60s', 'nodes', '--all');
  return admin;
}

/** Client of the cluster that is up. */
export function kubectl(): Kubectl {
  return new Kubectl(findMachine('control'), KUBECONFIG);
}

export { end as clusterDown };
