/** KServe's controller, with the objects that KServe is installed by. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { KSERVE_MANIFESTS, programPath } from '../programs.ts';
import { selfSigned } from './certificates.ts';
import { KUBECONFIG } from './control-plane.ts';
import { controlService } from './extension.ts';
import type { Kubectl } from './kubectl.ts';
import { findMachine, STATE } from './state.ts';

const NAMESPACE = 'kserve';
const WEBHOOKS = 'kserve-webhook-server-service';
const WEBHOOK_PORT = 9443;
/** Kinds beside its controller, which runs as a program, and a certificate, which we make. */
const KINDS = ['Namespace', 'ConfigMap', 'CustomResourceDefinition'];

interface Installed {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly webhooks?: readonly {
    readonly clientConfig: { readonly service: { readonly name: string } };
  }[];
}

export async function startKserve(kubectl: Kubectl): Promise<void> {
  // Folder of temporary files: in there its webhooks look for their certificate.
  const temporary = join(STATE, 'kserve');
  const folder = join(temporary, 'k8s-webhook-server/serving-certs');
  mkdirSync(folder, { recursive: true });
  const host = `${WEBHOOKS}.${NAMESPACE}.svc`;
  const { certificate } = selfSigned(folder, 'tls', [`subjectAltName=DNS:${host}`]);
  const caBundle = readFileSync(certificate).toString('base64');
  const objects = installedObjects().map((object) => withCertificate(object, caBundle));
  const isWebhook = ({ webhooks }: Installed) => webhooks !== undefined;
  await apply(kubectl, 'objects', [
    ...objects.filter((object) => !isWebhook(object)),
    ...controlService(NAMESPACE, WEBHOOKS, WEBHOOK_PORT),
  ]);
  await kubectl.run('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all');
  findMachine('control').spawn(
    'kserve',
    'env',
    `TMPDIR=${temporary}`,
    `KUBECONFIG=${KUBECONFIG}`,
    programPath('kserve'),
    '--metrics-addr=127.0.0.1:8081',
    '--health-probe-addr=127.0.0.1:8082',
    `--webhook-port=${WEBHOOK_PORT}`,
  );
  await apply(kubectl, 'webhooks', objects.filter(isWebhook));
}

function installedObjects(): Installed[] {
  const documents = parseAllDocuments(readFileSync(KSERVE_MANIFESTS, 'utf8'));
  return documents
    .map((document) => document.toJS() as Installed)
    .filter(
      ({ kind, webhooks = [] }) =>
        KINDS.includes(kind) ||
        // Others' are served by a program for `LLMInferenceService`.
        webhooks.some(({ clientConfig }) => clientConfig.service.name === WEBHOOKS),
    );
}

function withCertificate(object: Installed, caBundle: string): Installed {
  if (object.webhooks === undefined) return object;
  const webhooks = object.webhooks.map((webhook) => ({
    ...webhook,
    clientConfig: { ...webhook.clientConfig, caBundle },
  }));
  return { ...object, webhooks };
}

async function apply(kubectl: Kubectl, name: string, items: readonly object[]): Promise<void> {
  const file = join(STATE, `kserve-${name}.json`);
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await kubectl.run('apply', '--server-side', '-f', file);
}
