/**
 * The endpoint picker of the Gateway API's Inference Extension reads our replicas' metrics, and Envoy sends
 * requests to those that it picks. Envoy's routes are written by hand: there is no gateway's controller that
 * reads the HTTPRoute.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clusterDown, clusterUp } from '../../scripts/kubernetes/cluster/cluster.ts';
import { GATEWAY, PICKER_METRICS, startGateway } from '../../scripts/kubernetes/cluster/gateway.ts';
import { chairliftArchive } from '../../scripts/kubernetes/cluster/images.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { findMachine, STATE } from '../../scripts/kubernetes/cluster/state.ts';
import { FOLDER, schemas } from '../deploy/manifests.ts';
import { needs } from '../support/needs.ts';
import { until } from '../support/processes.ts';
import { applyDefinitions, former } from './support/definitions.ts';
import { type Answered, GatewayClient } from './support/gateway-client.ts';
import { GATEWAY_CLUSTER } from './support/requirements.ts';
import { IMAGE, type Pod, Site } from './support/site.ts';

const NAMESPACE = 'picked';
const REQUESTS = 'inference_objective_request_total';
const INPUT_TOKENS = 'inference_objective_input_tokens_sum';
const CONVERSATIONS = 12;
const TURNS = 4;

/** Pods that have soon as many requests as they can have at once, and keep as many texts. */
const PATCHES = `  - target: {kind: Deployment, name: chairlift}
    patch: |-
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: CHAIRLIFT_MAX_NUM_SEQS, value: '16'}}
`;

/** A prompt that begins like no other's, and outweighs a queue: an answer adds little to it. */
const opening = (about: string) =>
  `The ${about} lived in a house by the river, and all the village had heard of them. `.repeat(10);
const completion = (prompt: string, maxTokens = 16) => ({
  model: 'summit',
  prompt,
  max_tokens: maxTokens,
  ignore_eos: true,
  temperature: 0,
});

describe('an endpoint picker', needs(...GATEWAY_CLUSTER, schemas()), () => {
  let kubectl: Kubectl;
  let site: Site;
  let client: GatewayClient;
  /** Counts of the picker when the gateway first answered. */
  let warming: { readonly requests: number; readonly numPrompt: number };
  beforeAll(async () => {
    kubectl = await clusterUp(() => [chairliftArchive(IMAGE, 'debian')]);
    await applyDefinitions(kubectl, true);
    site = new Site(kubectl, NAMESPACE, ['inference-gateway'], PATCHES);
    await site.apply();
    const config = ['configmap/chairlift-endpoint-picker', '-o', 'jsonpath={.data.config\\.yaml}'];
    startGateway(former(await site.kubectl('get', ...config)), [
      '--pool-name=chairlift',
      `--pool-namespace=${NAMESPACE}`,
    ]);
    client = new GatewayClient('node1', GATEWAY);
    await until(async () => (await readyPods()) === 3, 'pods that the picker knows', 60_000);
    const isThere = async () => (await client.ask([completion('Once', 1)]))[0]?.status === 200;
    await until(isThere, 'the gateway', 60_000);
    warming = { requests: await total(REQUESTS), numPrompt: await total(INPUT_TOKENS) };
  });
  afterAll(async () => {
    await clusterDown();
    client.hangUp();
  });

  /** Samples of the picker's own metrics, by their labels. */
  async function pickerMetric(name: string): Promise<Record<string, number>> {
    // It may not listen yet.
    const patience = ['--retry', '30', '--retry-delay', '1', '--retry-connrefused'];
    const curl = ['curl', '-sS', ...patience, `${PICKER_METRICS}/metrics`];
    const [program, ...args] = findMachine('control').inNetwork(...curl);
    const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 26 });
    const lines = stdout.split('\n').filter((line) => line.startsWith(`${name}{`));
    return Object.fromEntries(
      lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), valueOf(line)]),
    );
  }

  /** Sum over its labels. */
  const total = async (name: string) =>
    Object.values(await pickerMetric(name)).reduce((sum, value) => sum + value, 0);
  const readyPods = () => total('inference_pool_ready_pods');

  test('keeps conversations where they began, and reads their usage', async () => {
    const addresses = (await site.pods()).map(({ address }) => address).toSorted();
    const prompts = Array.from({ length: CONVERSATIONS }, (_, index) => opening(`${index} bakers`));
    const answers: Answered[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [index, prompt] of prompts.entries()) {
        const asked = await client.ask([completion(prompt)]);
        answers.push(...asked);
        prompts[index] += asked[0]?.text ?? '';
      }
    }
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const whereabouts = prompts.map(
      (_, index) =>
        new Set(
          answers
            .filter((_answer, at) => at % CONVERSATIONS === index)
            .map(({ servedBy }) => servedBy),
        ),
    );
    expect(whereabouts.map(({ size }) => size)).toEqual(prompts.map(() => 1));
    expect([...new Set(whereabouts.flatMap((each) => [...each]))].toSorted()).toEqual(addresses);
    const again = answers.slice(CONVERSATIONS);
    expect(again.filter(({ numCached }) => numCached < 32)).toEqual([]);
    expect(await total(REQUESTS)).toBe(warming.requests + answers.length);
    const numPrompt = answers.reduce((sum, each) => sum + each.numPrompt, 0);
    expect(await total(INPUT_TOKENS)).toBe(warming.numPrompt + numPrompt);
  });

  /** @returns clients of these pods, whose requests fill them, once many wait in each */
  async function fill(pods: readonly Pod[]): Promise<readonly GatewayClient[]> {
    const clients = pods.map(({ address, name }) => {
      const direct = new GatewayClient('node1', `http://${address}:8000`);
      const prompts = Array.from({ length: 40 }, (_, index) =>
        opening(`${index} smiths of ${name}`),
      );
      direct.send(prompts.map((prompt) => completion(prompt, 1000)));
      return direct;
    });
    for (const pod of pods) {
      await expect.poll(() => queueOf(pod), { timeout: 60_000 }).toBeGreaterThan(12);
    }
    return clients;
  }

  /** Requests that wait in a pod, as the picker knows it; undefined where it does not know the pod. */
  async function queueOf(pod: Pod): Promise<number | undefined> {
    const queues = Object.entries(await pickerMetric('inference_pool_per_pod_queue_size'));
    return queues.find(([labels]) => labels.includes(pod.name))?.[1];
  }

  test('spares a replica whose requests wait', async () => {
    const [busy] = await site.pods();
    if (busy === undefined) throw new Error('there is no pod');
    const [direct] = await fill([busy]);
    const few = Array.from({ length: 6 }, (_, index) => completion(opening(`${index} weavers`)));
    const answers = await client.ask(few);
    expect(await queueOf(busy)).toBeGreaterThan(0);
    direct?.hangUp();
    expect(answers.map(({ status }) => status)).toEqual(few.map(() => 200));
    expect(answers.filter(({ servedBy }) => servedBy === busy.address)).toEqual([]);
    await expect.poll(() => queueOf(busy), { timeout: 30_000 }).toBe(0);
  });

  test('sheds what can wait when all replicas are full, and nothing else', async () => {
    const objectives = readFileSync(join(FOLDER, 'inference-gateway/objectives.yaml'), 'utf8');
    const file = join(STATE, 'objectives.yaml');
    writeFileSync(file, former(objectives));
    await site.kubectl('apply', '-f', file);
    const short = [completion(opening('millers'), 1)];
    const of = (name: string) => ({ 'x-gateway-inference-objective': name });
    const direct = await fill(await site.pods());
    const [batch] = await client.ask(short, of('batch'));
    client.send(short, of('interactive'));
    for (const each of direct) each.hangUp();
    const [interactive] = await client.answers(1);
    expect([batch?.status, interactive?.status]).toEqual([429, 200]);
    expect((await client.ask(short, of('batch')))[0]?.status).toBe(200);
  });

  test('picks no replica that was killed', async () => {
    const prompt = opening('fishers');
    const [before] = await client.ask([completion(prompt)]);
    const pods = await site.pods();
    const killed = pods.find(({ address }) => address === before?.servedBy);
    if (killed === undefined) throw new Error(`no pod has served: ${JSON.stringify(before)}`);
    await site.kubectl('delete', 'pod', killed.name, '--grace-period=0', '--force');
    await expect.poll(() => queueOf(killed), { timeout: 30_000 }).toBeUndefined();
    const answers = await client.ask(Array.from({ length: 20 }, () => completion(prompt)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(answers.filter(({ servedBy }) => servedBy === killed.address)).toEqual([]);
    expect(answers.map(({ text }) => text)).toEqual(answers.map(() => before?.text));
    await site.settled();
    await expect.poll(readyPods, { timeout: 60_000 }).toBe(3);
  });
});

function valueOf(line: string): number {
  return Number(line.slice(line.lastIndexOf(' ') + 1));
}
