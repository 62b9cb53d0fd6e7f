/** Servers beside the cluster's nodes that the cluster knows by a Service. */
import { CONTROL_ADDRESS } from './network.ts';

/** A Service of a program that runs on the control machine. */
export function controlService(namespace: string, name: string, port: number): object[] {
  const metadata = { name, namespace };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: [{ name: 'https', port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port }],
      endpoints: [{ addresses: [CONTROL_ADDRESS], conditions: { ready: true } }],
    },
  ];
}
