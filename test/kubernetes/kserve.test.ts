/** KServe runs the ServingRuntime and the InferenceService of deploy/kubernetes/kserve. */
import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterDown, clusterUp } from '../../scripts/kubernetes/cluster/cluster.ts';
import { chairliftArchive } from '../../scripts/kubernetes/cluster/images.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { startKserve } from '../../scripts/kubernetes/cluster/kserve.ts';
import { findMachine, STATE } from '../../scripts/kubernetes/cluster/state.ts';
import { editedCopy } from '../deploy/manifests.ts';
import { needs } from '../support/needs.ts';
import { KSERVE } from './support/requirements.ts';
import { IMAGE } from './support/site.ts';
import { applyVolume } from './support/volume.ts';

const NAMESPACE = 'served';

/** Without Knative, and as small as this machine; and a claim for the models. */
const PATCHES = `patches:
  - target: {kind: InferenceService}
    patch: |-
      - {op: replace, path: /metadata/annotations/serving.kserve.io~1deploymentMode, value: RawDeployment}
      - {op: remove, path: /spec/predictor/scaleMetric}
      - {op: remove, path: /spec/predictor/scaleTarget}
      - {op: replace, path: /spec/predictor/minReplicas, value: 1}
  - target: {kind: ServingRuntime}
    patch: |-
      - {op: replace, path: /spec/containers/0/resources/requests/cpu, value: 100m}
`;
const CLAIM = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'models', namespace: NAMESPACE },
  spec: { accessModes: ['ReadOnlyMany'], resources: { requests: { storage: '20Gi' } } },
};

describe('KServe', needs(...KSERVE), () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await clusterUp(() => [chairliftArchive(IMAGE, 'debian')]);
    await startKserve(kubectl);
  });
  afterAll(clusterDown);

  const within = (...args: readonly string[]) => kubectl.run(`--namespace=${NAMESPACE}`, ...args);

  async function applied(): Promise<void> {
    const folder = editedCopy('kserve', (text) => text + PATCHES);
    try {
      await expect.poll(() => tryApply(folder), { timeout: 60_000 }).toBe('applied');
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** Its webhooks take a moment to start. */
  async function tryApply(folder: string): Promise<string> {
    return within('apply', '-k', join(folder, 'kserve')).then(() => 'applied', String);
  }

  /** @returns what the predictor's Service answers */
  async function asked(path: string, body?: object): Promise<unknown> {
    const address = await within(
      'get',
      'service',
      'qwen-predictor',
      '-o',
      'jsonpath={.spec.clusterIP}:{.spec.ports[0].port}',
    );
    const json = ['-H', 'content-type: application/json'];
    const sent = body === undefined ? [] : [...json, '-d', JSON.stringify(body)];
    const curl = ['curl', '-sS', '--fail-with-body', ...sent, `http://${address}${path}`];
    const [program, ...args] = findMachine('node1').inNetwork(...curl);
    return JSON.parse((await promisify(execFile)(program, args)).stdout) as unknown;
  }

  test('makes the InferenceService ready, which answers in both protocols', async () => {
    const models = join(STATE, 'models');
    cpSync('models/summit', join(models, 'qwen3-0.6b'), { recursive: true });
    await applyVolume(kubectl, 'ReadOnlyMany', models);
    await kubectl.run('create', 'namespace', NAMESPACE);
    const claim = join(STATE, 'claim.yaml');
    appendFileSync(claim, JSON.stringify(CLAIM));
    await kubectl.run('apply', '-f', claim);
    await applied();
    await within('wait', '--for=condition=Ready', '--timeout=300s', 'inferenceservice/qwen');
    const messages = [{ role: 'user', content: 'Tell a story.' }];
    const chat = { model: 'qwen', messages, max_tokens: 8, temperature: 0 };
    expect(await asked('/v1/chat/completions', chat)).toMatchObject({
      choices: [{ message: { role: 'assistant', content: expect.stringMatching(/\w/) as string } }],
      usage: { completion_tokens: 8 },
    });
    expect(await asked('/v2/models/qwen')).toMatchObject({ name: 'qwen' });
    expect(await asked('/v2/models/qwen/ready')).toMatchObject({ ready: true });
    const inputs = [{ name: 'text_input', shape: [1], datatype: 'BYTES', data: ['Once upon'] }];
    const v2 = { inputs, parameters: { max_tokens: 8, temperature: 0 } };
    expect(await asked('/v2/models/qwen/infer', v2)).toMatchObject({ model_name: 'qwen' });
  });
});
