/** An autoscaler adds pods for a flash crowd and takes them away again, and no answer is cut. */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../../scripts/kubernetes/cluster/api.ts';
import { clusterDown, clusterUp } from '../../scripts/kubernetes/cluster/cluster.ts';
import { chairliftArchive } from '../../scripts/kubernetes/cluster/images.ts';
import type { Kubectl } from '../../scripts/kubernetes/cluster/kubectl.ts';
import { startMetrics } from '../../scripts/kubernetes/cluster/metrics.ts';
import { needs } from '../support/needs.ts';
import { CrowdLoad } from './support/crowd-load.ts';
import { METRICS } from './support/requirements.ts';
import { ScalingRecord } from './support/scaling-record.ts';
import { IMAGE, Site } from './support/site.ts';

const NAMESPACE = 'crowd';
const RULES = 'deploy/kubernetes/queue-depth/adapter-rules.yaml';
const FEW = 4;
const MANY = 200;
const QUIET_MS = 30_000;
const CROWD_MS = 180_000;
/** File for the record, which docs/images draws. */
const RECORD = process.env['AUTOSCALING_RECORD'];

/** Pods that are small enough for four on this machine, and an autoscaler without patience. */
const PATCHES = `  - target: {kind: Deployment, name: chairlift}
    patch: |-
      - {op: replace, path: /spec/template/spec/containers/0/resources/limits/cpu, value: 350m}
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: CHAIRLIFT_MAX_NUM_SEQS, value: '16'}}
  - target: {kind: HorizontalPodAutoscaler, name: chairlift}
    patch: |-
      - {op: replace, path: /spec/minReplicas, value: 1}
      - {op: replace, path: /spec/maxReplicas, value: 4}
      - {op: replace, path: /spec/behavior/scaleDown/stabilizationWindowSeconds, value: 30}
      - {op: replace, path: /spec/behavior/scaleDown/policies/0/periodSeconds, value: 15}
`;

describe('an autoscaler by waiting requests', needs(...METRICS), () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await clusterUp(() => [chairliftArchive(IMAGE, 'debian')]);
    await startMetrics(kubectl, RULES);
  });
  afterAll(clusterDown);

  test('adds pods for a flash crowd and takes them away: no answer is cut', async () => {
    const site = new Site(kubectl, NAMESPACE, ['queue-depth', 'moving-streams'], PATCHES);
    await site.apply({ CHAIRLIFT_RESUME_KEY: 'a secret of all pods' });
    const record = new ScalingRecord(await Api.start(), NAMESPACE);
    await expect.poll(() => record.last?.waiting, { timeout: 60_000 }).toBe(0);
    const began = Date.now();
    const crowd = new CrowdLoad(await site.url());
    const phases: { readonly at: number; readonly people: number }[] = [];
    const be = (people: number) => {
      phases.push({ at: Date.now() - began, people });
      crowd.be(people);
    };
    be(FEW);
    await sleep(QUIET_MS);
    expect(record.last).toMatchObject({ pods: 1, waiting: 0 });
    be(MANY);
    await sleep(CROWD_MS);
    be(FEW);
    const alone = { pods: 1, ready: 1, ending: 0, desired: 1 };
    await expect.poll(() => record.last, { timeout: 400_000 }).toMatchObject(alone);
    const seen = await crowd.end();
    await record.stop();
    const samples = record.samples.map((sample) => ({ ...sample, at: sample.at - began }));
    const answers = seen.answers.map(({ at, ttftMs }) => ({ at: at - began, ttftMs }));
    if (RECORD !== undefined) {
      writeFileSync(RECORD, `${JSON.stringify({ phases, samples, answers })}\n`);
    }
    const { failures, different, longestGapMs } = seen;
    console.log(JSON.stringify({ answers: answers.length, failures, different, longestGapMs }));
    expect({ failures, different }).toEqual({ failures: [], different: 0 });
    expect(Math.max(...samples.map(({ ready }) => ready))).toBe(4);
  });
});
