/** The part of a cluster that is told and decides: etcd, Kubernetes' server, controllers, scheduler and names. */
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { until } from '../../../test/support/processes.ts';
import { programPath } from '../programs.ts';
import { selfSigned } from './certificates.ts';
import { Kubectl } from './kubectl.ts';
import type { Machine } from './machine.ts';
import { CONTROL_ADDRESS, PODS, SERVICES } from './network.ts';
import { STATE } from './state.ts';

const PKI = join(STATE, 'pki');
const ETCD = 'http://127.0.0.1:2379';
export const SERVER = `https://${CONTROL_ADDRESS}:6443`;
/** Access of an administrator, and of every part of the cluster. */
export const KUBECONFIG = join(STATE, 'kubeconfig.yaml');
export const CLUSTER_DOMAIN = 'cluster.local';

/** As long as a start may take on a busy machine. */
const START_MS = 120_000;

/** The server, and etcd: takes objects and checks them, and nothing runs. */
export async function startServer(control: Machine): Promise<void> {
  const token = randomBytes(24).toString('hex');
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  mkdirSync(PKI);
  writeFileSync(join(PKI, 'accounts.pub'), keys.publicKey);
  writeFileSync(join(PKI, 'accounts.key'), keys.privateKey);
  writeFileSync(join(PKI, 'tokens.csv'), `${token},admin,admin,system:masters\n`);
  writeKubeconfig(token);
  control.spawn(
    'etcd',
    'etcd',
    `--data-dir=${join(STATE, 'etcd')}`,
    `--listen-client-urls=${ETCD}`,
    `--advertise-client-urls=${ETCD}`,
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--unsafe-no-fsync',
    '--log-level=warn',
  );
  control.spawn(
    'kube-apiserver',
    programPath('kube-apiserver'),
    `--etcd-servers=${ETCD}`,
    `--bind-address=${CONTROL_ADDRESS}`,
    `--advertise-address=${CONTROL_ADDRESS}`,
    '--secure-port=6443',
    // It makes a certificate of its own.
    `--cert-dir=${PKI}`,
    `--token-auth-file=${join(PKI, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    `--service-account-key-file=${join(PKI, 'accounts.pub')}`,
    `--service-account-signing-key-file=${join(PKI, 'accounts.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-cluster-ip-range=${SERVICES}`,
    '--kubelet-preferred-address-types=InternalIP',
    ...extensionFlags(),
    '--enable-priority-and-fairness=false',
  );
  const kubectl = new Kubectl(control, KUBECONFIG);
  await until(() => kubectl.succeeds('get', '--raw=/readyz'), "Kubernetes' server", START_MS);
}

/** The server asks other servers for what it does not know, and shows them who it is. */
function extensionFlags(): string[] {
  const name = 'front-proxy';
  const { certificate, key } = selfSigned(PKI, name, ['extendedKeyUsage=clientAuth']);
  return [
    `--requestheader-client-ca-file=${certificate}`,
    `--requestheader-allowed-names=${name}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${certificate}`,
    `--proxy-client-key-file=${key}`,
    // No kube-proxy is on its machine, so it asks the endpoints of a Service themselves.
    '--enable-aggregator-routing=true',
  ];
}

/** Starts the programs that make objects run, once there are nodes, and find them by name. */
export async function startControllers(control: Machine): Promise<void> {
  control.spawn(
    'kube-controller-manager',
    programPath('kube-controller-manager'),
    `--kubeconfig=${KUBECONFIG}`,
    '--bind-address=127.0.0.1',
    `--service-account-private-key-file=${join(PKI, 'accounts.key')}`,
    `--root-ca-file=${join(PKI, 'apiserver.crt')}`,
    '--leader-elect=false',
    `--cluster-cidr=${PODS}`,
    '--use-service-account-credentials=true',
  );
  control.spawn(
    'kube-scheduler',
    programPath('kube-scheduler'),
    `--kubeconfig=${KUBECONFIG}`,
    '--bind-address=127.0.0.1',
    '--leader-elect=false',
  );
  const names = join(STATE, 'Corefile');
  writeFileSync(
    names,
    `.:53 {
  errors
  kubernetes ${CLUSTER_DOMAIN} {
    kubeconfig ${KUBECONFIG}
    ttl 5
  }
}
`,
  );
  control.spawn('coredns', programPath('coredns'), '-conf', names);
  await until(() => hasNames(control), 'names of Services', START_MS);
}

function hasNames(control: Machine): boolean {
  const code = `const resolver = new (require('node:dns/promises').Resolver)();
    resolver.setServers(['${CONTROL_ADDRESS}']);
    resolver.resolve4('kubernetes.default.svc.${CLUSTER_DOMAIN}')`;
  const [program, ...args] = control.inNetwork(process.execPath, '-e', code);
  return spawnSync(program, args).status === 0;
}

function writeKubeconfig(token: string): void {
  const name = 'chairlift';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name, cluster: { server: SERVER, 'certificate-authority': join(PKI, 'apiserver.crt') } },
    ],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(KUBECONFIG, stringify(config), { mode: 0o600 });
}
