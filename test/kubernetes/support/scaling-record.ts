/** How a Deployment with an autoscaler changes over time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Api } from '../../../scripts/kubernetes/cluster/api.ts';
import { writeTargets } from '../../../scripts/kubernetes/cluster/metrics.ts';

const METRIC = 'chairlift_num_requests_waiting';
const INTERVAL_MS = 1000;
const PORT = 8000;

const podsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), deletionTimestamp: z.string().optional() }),
      status: z.object({
        podIP: z.string().optional(),
        conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
      }),
    }),
  ),
});
const scalerSchema = z.object({ status: z.object({ desiredReplicas: z.int().default(0) }) });
const valuesSchema = z.object({ items: z.array(z.object({ value: z.string() })) });

export interface Sample {
  /** Milliseconds of the clock. */
  readonly at: number;
  /** Pods that take requests. */
  readonly ready: number;
  /** Pods that are to stay, ready or not. */
  readonly pods: number;
  /** Pods that drain. */
  readonly ending: number;
  /** Pods that the autoscaler wants. */
  readonly desired: number;
  /** Requests that wait in all pods together, as the autoscaler is told; null while nobody knows. */
  readonly waiting: number | null;
}

export class ScalingRecord {
  readonly samples: Sample[] = [];
  readonly #api: Api;
  readonly #namespace: string;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  /** Looks each second, and tells Prometheus which pods there are. */
  constructor(api: Api, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
    this.#done = this.#run();
  }

  get last(): Sample | undefined {
    return this.samples.at(-1);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.samples.push(await this.#sample());
      await sleep(INTERVAL_MS);
    }
  }

  async #sample(): Promise<Sample> {
    const within = `namespaces/${this.#namespace}`;
    const [pods, scaler, values] = await Promise.all([
      this.#api.get(`/api/v1/${within}/pods?labelSelector=app%3Dchairlift`),
      this.#api.get(`/apis/autoscaling/v2/${within}/horizontalpodautoscalers/chairlift`),
      this.#api.get(`/apis/custom.metrics.k8s.io/v1beta2/${within}/pods/*/${METRIC}`),
    ]);
    const { items } = podsSchema.parse(pods);
    const isEnding = ({ metadata }: (typeof items)[number]) =>
      metadata.deletionTimestamp !== undefined;
    const targets = items.flatMap(({ metadata: { name: pod }, status: { podIP } }) =>
      podIP === undefined ? [] : [{ namespace: this.#namespace, pod, address: `${podIP}:${PORT}` }],
    );
    writeTargets(targets);
    const staying = items.filter((pod) => !isEnding(pod));
    const isReady = ({ status }: (typeof items)[number]) =>
      status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
    return {
      at: Date.now(),
      ready: staying.filter(isReady).length,
      pods: staying.length,
      ending: items.length - staying.length,
      desired: scalerSchema.parse(scaler).status.desiredReplicas,
      waiting: values === null ? null : total(values),
    };
  }
}

function total(values: unknown): number {
  const { items } = valuesSchema.parse(values);
  return items.reduce((sum, { value }) => sum + quantity(value), 0);
}

/** A number as Kubernetes writes it, of which only thousandths have a letter here. */
function quantity(value: string): number {
  return value.endsWith('m') ? Number(value.slice(0, -1)) / 1000 : Number(value);
}
