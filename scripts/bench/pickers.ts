/**
 * Conversations over three replicas behind HAProxy with our configuration, with affinity and without, and
 * behind Envoy with the endpoint picker of the Gateway API's Inference Extension and ours: how much of the
 * prompts is found in prefix caches, and how soon the first token comes.
 *
 *   npx tsx scripts/kubernetes/build.ts kube-apiserver kubectl epp envoy
 *   npx tsx scripts/kubernetes/fetch.ts
 *   npm run build && npx tsx scripts/bench/pickers.ts [--conversations 48] [--at-once 8]
 *
 * The picker finds its pods in Kubernetes' own server. No kubelet runs: the pods are objects with addresses
 * of this machine, where the replicas are. Takes root, as all is in a network of its own.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { applyDefinitions, former } from '../../test/kubernetes/support/definitions.ts';
import { apiUp, clusterDown } from '../kubernetes/cluster/cluster.ts';
import { startGateway } from '../kubernetes/cluster/gateway.ts';
import type { Kubectl } from '../kubernetes/cluster/kubectl.ts';
import { findMachine, STATE } from '../kubernetes/cluster/state.ts';
import { machineShape } from './lib/machine.ts';
import { printTable } from './lib/table.ts';
import {
  BALANCERS,
  type Balancer,
  type Outcome,
  outcomeSchema,
  REPLICAS,
} from './replicas/balancers.ts';

const { values } = parseArgs({
  options: {
    conversations: { type: 'string', default: '48' },
    'at-once': { type: 'string', default: '8' },
  },
});
const GATEWAY_FILES = 'deploy/kubernetes/inference-gateway';

/** Pods that are ready, at the replicas' addresses; and the pool that has them. */
async function applyPods(kubectl: Kubectl): Promise<void> {
  await kubectl.run('create', 'serviceaccount', 'default');
  await kubectl.run('apply', '-f', join(GATEWAY_FILES, 'pool.yaml'));
  for (const [name, ip] of Object.entries(REPLICAS)) {
    const file = join(STATE, `pod-${name}.json`);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: 'chairlift' } },
      spec: { containers: [{ name: 'chairlift', image: 'chairlift' }] },
    };
    writeFileSync(file, JSON.stringify(pod));
    await kubectl.run('create', '-f', file);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
    const patch = ['--subresource=status', '-p', JSON.stringify({ status })];
    await kubectl.run('patch', 'pod', name, ...patch);
  }
}

/** Runs the load in the network where all servers are. */
async function outcomeOf(balancer: Balancer): Promise<Outcome> {
  const script = join(import.meta.dirname, 'replicas/balanced.ts');
  const load = [balancer, values.conversations, values['at-once']];
  const node = [process.execPath, '--import', 'tsx', script, ...load];
  const [program, ...args] = findMachine('control').inNetwork(...node);
  const { stdout } = await promisify(execFile)(program, args);
  return outcomeSchema.parse(JSON.parse(stdout));
}

const rows: string[][] = [];
try {
  const kubectl = await apiUp();
  await applyDefinitions(kubectl);
  await applyPods(kubectl);
  for (const balancer of BALANCERS) {
    // Idle, it would ask replicas that are not there.
    if (balancer === 'picker') {
      const config = readFileSync(join(GATEWAY_FILES, 'endpoint-picker.yaml'), 'utf8');
      startGateway(former(config), ['--pool-name=chairlift', '--pool-namespace=default']);
    }
    const outcome = await outcomeOf(balancer);
    rows.push([
      balancer,
      String(outcome.requests),
      String(outcome.failed),
      `${(100 * outcome.hitRate).toFixed(1)}%`,
      outcome.ttftMs.p50.toFixed(0),
      outcome.ttftMs.p95.toFixed(0),
      outcome.served.join(', '),
      loadavg()[0]?.toFixed(1) ?? '',
    ]);
  }
} finally {
  await clusterDown();
}
console.log(`${machineShape()}; summit, a thread for each replica\n`);
printTable(
  [
    'balancer',
    'requests',
    'failed',
    'prefix hits',
    'TTFT p50, ms',
    'p95',
    'served by each',
    'load',
  ],
  rows,
);
