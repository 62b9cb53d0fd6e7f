/** A node: containerd, a kubelet and kube-proxy, in folders of its own at their usual paths. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { until } from '../../../test/support/processes.ts';
import { programPath } from '../programs.ts';
import { CLUSTER_DOMAIN, KUBECONFIG } from './control-plane.ts';
import { PAUSE_IMAGE } from './images.ts';
import type { Machine } from './machine.ts';
import { CONTROL_ADDRESS, linkNode, nodeAddress, podNetwork, PODS } from './network.ts';
import { CGROUP, startMachine, STATE } from './state.ts';

/** @param archives of images */
export async function startNode(
  control: Machine,
  index: number,
  archives: readonly string[],
): Promise<void> {
  const name = `node${index}`;
  const folder = join(STATE, name);
  const node = await startMachine(name, {
    '/var/lib': join(folder, 'lib'),
    '/var/log': join(folder, 'log'),
  });
  await linkNode(control, node, index);
  writeContainerdConfig(folder, index);
  node.spawn('containerd', 'containerd', '--config', join(folder, 'containerd.toml'));
  const ctr = ['ctr', '--namespace=k8s.io'];
  await until(() => succeeds(node.run(...ctr, 'version')), `containerd of ${name}`);
  for (const archive of archives) await node.run(...ctr, 'image', 'import', archive);
  writeFileSync(join(folder, 'kubelet.yaml'), stringify(kubeletConfig(index)));
  node.spawn(
    'kubelet',
    programPath('kubelet'),
    `--config=${join(folder, 'kubelet.yaml')}`,
    `--kubeconfig=${KUBECONFIG}`,
    `--hostname-override=${name}`,
    `--node-ip=${nodeAddress(index)}`,
  );
  node.spawn(
    'kube-proxy',
    programPath('kube-proxy'),
    `--kubeconfig=${KUBECONFIG}`,
    `--hostname-override=${name}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${PODS}`,
    `--bind-address=${nodeAddress(index)}`,
    // These are this machine's, too.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  );
}

async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  );
}

function writeContainerdConfig(folder: string, index: number): void {
  const networks = join(folder, 'cni');
  mkdirSync(networks, { recursive: true });
  writeFileSync(join(networks, '10-pods.conflist'), JSON.stringify(podNetwork(index)));
  writeFileSync(
    join(folder, 'containerd.toml'),
    `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # A machine that is a container itself may not set less than its own.
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "${networks}"
`,
  );
}

/** As little as possible is asked of this machine, which may be a container. */
function kubeletConfig(index: number): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: nodeAddress(index),
    // Nobody but the cluster can reach it.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${CGROUP}`,
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    localStorageCapacityIsolation: false,
    clusterDNS: [CONTROL_ADDRESS],
    clusterDomain: CLUSTER_DOMAIN,
    resolvConf: '',
    imageGCHighThresholdPercent: 100,
    evictionHard: Object.fromEntries(
      ['memory.available', 'nodefs.available', 'imagefs.available', 'nodefs.inodesFree'].map(
        (signal) => [signal, '0%'],
      ),
    ),
  };
}
