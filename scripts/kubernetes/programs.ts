/** Programs of a Kubernetes cluster, and where `build.ts` puts them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

export const KUBERNETES_VERSION = '1.34.3';
export const COREDNS_VERSION = '1.14.1';
export const HELM_VERSION = '3.19.5';
export const ADAPTER_VERSION = '0.12.0';
export const KSERVE_VERSION = '0.16.0';
/** Gateway API Inference Extension, whose endpoint picker is `epp`. */
export const PICKER_VERSION = '1.5.0';
export const ENVOY_VERSION = '1.40.0';
export const POLICIES_VERSION = '0.8.0';

/** Folder of the programs. */
export const PROGRAMS = join(defaultCacheDirectory(), `kubernetes-${KUBERNETES_VERSION}`);

/** Programs that take manifests and check them; they run none. */
export const API_PROGRAMS = ['kube-apiserver', 'kubectl'] as const;
/** Packages of k8s.io/kubernetes. */
export const KUBERNETES_PROGRAMS = [
  ...API_PROGRAMS,
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
] as const;
/** Programs of a cluster that runs pods. */
export const CLUSTER_PROGRAMS = [...KUBERNETES_PROGRAMS, 'coredns'] as const;
/** A gateway's proxy, and what it asks for a pod. */
export const GATEWAY_PROGRAMS = ['epp', 'envoy'] as const;
export const ALL_PROGRAMS = [
  ...CLUSTER_PROGRAMS,
  'helm',
  'prometheus-adapter',
  'kserve',
  'kube-network-policies',
  ...GATEWAY_PROGRAMS,
] as const;

export type Program = (typeof ALL_PROGRAMS)[number];

export const programPath = (name: Program): string => join(PROGRAMS, name);

/** Objects that KServe is installed by, of its own manifests. */
export const KSERVE_MANIFESTS = join(PROGRAMS, 'kserve.yaml');

/** Those that have not been built. */
export function missingFrom(names: readonly Program[]): Program[] {
  return names.filter((name) => !existsSync(programPath(name)));
}
