/** Requirements of a cluster on this machine. */
import { existsSync } from 'node:fs';
import {
  CLUSTER_PROGRAMS,
  API_PROGRAMS,
  GATEWAY_PROGRAMS,
  missingFrom,
  type Program,
} from '../../../scripts/kubernetes/programs.ts';
import { LINUX, program, type Requirement } from '../../support/needs.ts';

const ROOT: Requirement = { name: 'root', isThere: process.getuid?.() === 0 };

const built = (names: readonly Program[]): Requirement => ({
  name: `Kubernetes: ${missingFrom(names).join(', ')} (npx tsx scripts/kubernetes/build.ts, which takes Go)`,
  isThere: missingFrom(names).length === 0,
});

/** Takes objects, and runs none. */
export const API: readonly Requirement[] = [
  LINUX,
  ROOT,
  built(API_PROGRAMS),
  program('etcd', 'etcd-server'),
  program('catatonit'),
  program('nsenter', 'util-linux'),
  program('openssl'),
];

export const CLUSTER: readonly Requirement[] = [
  ...API,
  built(CLUSTER_PROGRAMS),
  program('containerd'),
  program('runc'),
  program('buildah'),
  program('iptables'),
  program('conntrack'),
  {
    name: 'CNI plugins (Debian: containernetworking-plugins)',
    isThere: existsSync('/usr/lib/cni/bridge'),
  },
];

export const HELM: Requirement = {
  name: 'Helm (npx tsx scripts/kubernetes/build.ts helm, which takes Go)',
  isThere: missingFrom(['helm']).length === 0,
};

/** A cluster whose autoscalers have metrics. */
export const METRICS: readonly Requirement[] = [
  ...CLUSTER,
  built(['prometheus-adapter']),
  program('prometheus'),
];

export const KSERVE: readonly Requirement[] = [...CLUSTER, built(['kserve'])];

/** A gateway that asks an endpoint picker. */
export const GATEWAY_CLUSTER: readonly Requirement[] = [...CLUSTER, built(GATEWAY_PROGRAMS)];

/** A cluster that refuses connections. */
export const POLICIES: readonly Requirement[] = [...CLUSTER, built(['kube-network-policies'])];
