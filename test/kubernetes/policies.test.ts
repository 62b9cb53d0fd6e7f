/** The network policy of deploy/kubernetes/base, in force: kube-network-policies judges what pods connect to. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterDown, clusterUp } from '../../scripts/kubernetes/cluster/cluster.ts';
import { chairliftArchive } from '../../scripts/kubernetes/cluster/images.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { CONTROL_ADDRESS } from '../../scripts/kubernetes/cluster/network.ts';
import { startPolicies } from '../../scripts/kubernetes/cluster/policies.ts';
import { findMachine, STATE } from '../../scripts/kubernetes/cluster/state.ts';
import { needs } from '../support/needs.ts';
import { POLICIES } from './support/requirements.ts';
import { IMAGE, type Pod, Site } from './support/site.ts';

const NAMESPACE = 'guarded';
/** Pods that wait, on the first node: one server is on theirs, and one is not. */
const CLIENTS = [
  { namespace: NAMESPACE, name: 'client', labels: { 'chairlift-client': 'true' }, comesIn: true },
  { namespace: NAMESPACE, name: 'stranger', labels: {}, comesIn: false },
  { namespace: 'gateways', name: 'gateway', labels: {}, comesIn: true },
  { namespace: 'others', name: 'far', labels: { 'chairlift-client': 'true' }, comesIn: false },
];

/** One on each node. */
const PATCHES = `  - target: {kind: Deployment, name: chairlift}
    patch: |-
      - {op: replace, path: /spec/replicas, value: 2}
      - {op: replace, path: /spec/template/spec/topologySpreadConstraints/1/whenUnsatisfiable, value: DoNotSchedule}
`;

/** Ports of a machine outside. CoreDNS and Kubernetes' server are at the first and the last. */
const PORTS = [53, 443, 4318, 6379, 80, 5432, 6443];
const LISTENERS = `for (const port of ${JSON.stringify(PORTS.slice(1, -1))})
  require('node:net').createServer((socket) => socket.destroy()).listen(port, '${CONTROL_ADDRESS}');`;
/** A name to look up, and addresses; and which of them a server that the policy guards reaches. */
const OUTSIDE = ['kubernetes.default', ...PORTS.map((port) => `${CONTROL_ADDRESS}:${port}`)];
const REACHED = [true, true, true, true, true, false, false, false];

/** Tells which of its arguments took a connection, or had an address, within two seconds. */
const CONNECTOR = `Promise.all(process.argv.slice(1).map((to) => new Promise((resolve) => {
  const [host, port] = to.split(':');
  if (!port) return require('node:dns').lookup(host, (error) => resolve(!error));
  const socket = require('node:net').connect({ host, port });
  const end = (has) => () => { socket.destroy(); resolve(has); };
  socket.on('connect', end(true)).on('error', end(false)).setTimeout(2000, end(false));
}))).then((all) => console.log(JSON.stringify(all)));`;

describe('the network policy', needs(...POLICIES), () => {
  let kubectl: Kubectl;
  let site: Site;
  beforeAll(async () => {
    kubectl = await clusterUp(() => [chairliftArchive(IMAGE, 'debian')]);
    findMachine('control').spawn('listeners', process.execPath, '-e', LISTENERS);
    site = new Site(kubectl, NAMESPACE, [], PATCHES);
    await site.apply();
    for (const name of ['gateways', 'others']) await kubectl.run('create', 'namespace', name);
    await kubectl.run('label', 'namespace', 'gateways', 'chairlift-access=true');
    const file = `${STATE}/clients.json`;
    const command = ['node', '-e', 'setInterval(() => {}, 1e9)'];
    const items = CLIENTS.map(({ namespace, name, labels }) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name, labels } },
      spec: { nodeName: 'node1', containers: [{ name, image: IMAGE, command }] },
    }));
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await kubectl.run('apply', '-f', file);
    await kubectl.run('wait', '--for=condition=Ready', '--timeout=120s', '-f', file);
  });
  afterAll(clusterDown);

  const isServer = ({ name }: Pod) => name.startsWith('chairlift-');
  const servers = async () => (await site.pods()).filter(isServer);
  async function connects(namespace: string, pod: string, to: readonly string[]): Promise<unknown> {
    const exec = ['exec', `--namespace=${namespace}`, pod, '--', 'node', '-e', CONNECTOR, ...to];
    return JSON.parse(await kubectl.run(...exec));
  }

  /** @returns for each client whether each server and the Service take it; for each server, what it reaches */
  async function seen(): Promise<unknown> {
    const inside = (await servers()).map(({ address }) => `${address}:8000`);
    inside.push(`chairlift.${NAMESPACE}:80`);
    const clients = CLIENTS.map(({ namespace, name }) => connects(namespace, name, inside));
    const out = (await servers()).map(({ name }) => connects(NAMESPACE, name, OUTSIDE));
    return { in: await Promise.all(clients), out: await Promise.all(out) };
  }

  test('lets in and out whom it names, and probes, and nobody else', async () => {
    const all = OUTSIDE.map(() => true);
    expect(await seen()).toEqual({ in: CLIENTS.map(() => [true, true, true]), out: [all, all] });
    await startPolicies(kubectl);
    const guests = CLIENTS.map(({ comesIn }) => [comesIn, comesIn, comesIn]);
    const guarded = { in: guests, out: [REACHED, REACHED] };
    await expect.poll(seen, { timeout: 60_000 }).toEqual(guarded);
    // A new pod becomes ready by its probes, and is guarded.
    await site.kubectl('delete', 'pod', (await servers())[0]?.name ?? '');
    await site.settled();
    await expect.poll(seen, { timeout: 60_000 }).toEqual(guarded);
    const restarts = (await servers()).map((pod) => `${pod.node}: ${pod.restarts}`);
    expect(restarts.toSorted()).toEqual(['node1: 0', 'node2: 0']);
  });
});
