/** Network policies in force: kube-network-policies on each node, which Kubernetes' own network project keeps. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../programs.ts';
import { NODE_NAMES } from './cluster.ts';
import { SERVER } from './control-plane.ts';
import type { Kubectl } from './kubectl.ts';
import { findMachine, STATE } from './state.ts';

/** Folder where a pod's program finds its access to the server; this program has no flag for another. */
const ACCESS = '/run/secrets/kubernetes.io/serviceaccount';

/**
 * Rules for packets that it is asked about: all but those of a node's own programs, such as a kubelet's
 * probes, and of connections that it has let through. Its own rules say the same to nftables by `queue`,
 * which not every kernel has (CONFIG_NFT_QUEUE); where it is there, it is asked twice.
 */
const ASKED = [
  ['-m', 'owner', '--uid-owner', '0', '-j', 'ACCEPT'],
  ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED', '-j', 'ACCEPT'],
  ['-j', 'NFQUEUE', '--queue-num', '100'],
];

/** Starts what judges connections of pods, on each node; new ones are dropped until it runs. */
export async function startPolicies(kubectl: Kubectl): Promise<void> {
  const folder = join(STATE, 'policies');
  mkdirSync(folder);
  const configured = (path: string) =>
    kubectl.run('config', 'view', '--raw', '-o', `jsonpath={${path}}`);
  writeFileSync(join(folder, 'token'), await configured('.users[0].user.token'), { mode: 0o600 });
  const certificate = await configured('.clusters[0].cluster.certificate-authority');
  copyFileSync(certificate, join(folder, 'ca.crt'));
  const { hostname, port } = new URL(SERVER);
  for (const name of NODE_NAMES) {
    const node = findMachine(name);
    await node.run('mkdir', '-p', ACCESS);
    await node.run('mount', '--bind', folder, ACCESS);
    for (const rule of ASKED)
      await node.run('iptables', '-t', 'mangle', '-A', 'POSTROUTING', ...rule);
    node.spawn(
      'kube-network-policies',
      'env',
      `KUBERNETES_SERVICE_HOST=${hostname}`,
      `KUBERNETES_SERVICE_PORT=${port}`,
      programPath('kube-network-policies'),
      `--hostname-override=${name}`,
      '-v=2',
    );
  }
}
