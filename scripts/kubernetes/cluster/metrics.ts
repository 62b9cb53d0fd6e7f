/**
 * Metrics of pods as autoscalers see them: Prometheus, and the adapter that gives what it knows to
 * Kubernetes' server.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { programPath } from '../programs.ts';
import { KUBECONFIG } from './control-plane.ts';
import { controlService } from './extension.ts';
import type { Kubectl } from './kubectl.ts';
import { CONTROL_ADDRESS } from './network.ts';
import { findMachine, STATE } from './state.ts';

const PROMETHEUS = '127.0.0.1:9090';
const ADAPTER_PORT = 6444;
const SCRAPE_SECONDS = 2;
const TARGETS = join(STATE, 'targets.json');

/** A pod that is scraped. */
export interface Target {
  readonly namespace: string;
  readonly pod: string;
  readonly address: string;
}

/**
 * Says which pods there are. Debian's Prometheus is built without discovery by Kubernetes, so somebody has
 * to tell it.
 */
export function writeTargets(targets: readonly Target[]): void {
  const groups = targets.map(({ namespace, pod, address }) => ({
    targets: [address],
    labels: { namespace, pod },
  }));
  // Readers never see half of it.
  writeFileSync(`${TARGETS}.new`, JSON.stringify(groups));
  renameSync(`${TARGETS}.new`, TARGETS);
}

/** @param rules file with a list of the adapter's custom rules */
export async function startMetrics(kubectl: Kubectl, rules: string): Promise<void> {
  const control = findMachine('control');
  writeTargets([]);
  const prometheus = join(STATE, 'prometheus.yaml');
  writeFileSync(
    prometheus,
    stringify({
      global: { scrape_interval: `${SCRAPE_SECONDS}s` },
      scrape_configs: [
        { job_name: 'chairlift', file_sd_configs: [{ files: [TARGETS], refresh_interval: '1s' }] },
      ],
    }),
  );
  control.spawn(
    'prometheus',
    'prometheus',
    `--config.file=${prometheus}`,
    `--storage.tsdb.path=${join(STATE, 'prometheus')}`,
    `--web.listen-address=${PROMETHEUS}`,
  );
  const config = join(STATE, 'adapter.yaml');
  writeFileSync(config, stringify({ rules: parse(readFileSync(rules, 'utf8')) as unknown }));
  const access = ['lister', 'authentication', 'authorization'].map(
    (what) => `--${what}-kubeconfig=${KUBECONFIG}`,
  );
  control.spawn(
    'prometheus-adapter',
    programPath('prometheus-adapter'),
    `--config=${config}`,
    `--prometheus-url=http://${PROMETHEUS}`,
    '--metrics-relist-interval=10s',
    '--metrics-max-age=1m',
    `--bind-address=${CONTROL_ADDRESS}`,
    `--secure-port=${ADAPTER_PORT}`,
    `--cert-dir=${join(STATE, 'adapter')}`,
    ...access,
  );
  const file = join(STATE, 'metrics.json');
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: adapterObjects() }));
  await kubectl.run('apply', '-f', file);
  const service = `apiservice/${METRICS_API}`;
  await kubectl.run('wait', '--for=condition=Available', '--timeout=120s', service);
}

const METRICS_API = 'v1beta2.custom.metrics.k8s.io';

function adapterObjects(): object[] {
  const [namespace, name] = ['monitoring', 'prometheus-adapter'];
  return [
    ...controlService(namespace, name, ADAPTER_PORT),
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: METRICS_API },
      spec: {
        group: 'custom.metrics.k8s.io',
        version: 'v1beta2',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        service: { namespace, name },
        // Makes a certificate of its own.
        insecureSkipTLSVerify: true,
      },
    },
  ];
}
