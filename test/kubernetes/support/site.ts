/** The site of deploy/kubernetes on a cluster of this machine, and the clients that use it. */
import { execFile } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Kubectl } from '../../../scripts/kubernetes/cluster/kubectl.ts';
import { findMachine } from '../../../scripts/kubernetes/cluster/state.ts';
import { editedCopy, withComponents } from '../../deploy/manifests.ts';
import { MachineScript } from './machine-script.ts';
import { type Seen, seenSchema, UNDISTURBED } from './seen.ts';

/** Image of the site, by the name and version that are in it. */
export const IMAGE = 'registry.example/chairlift:0.2.0';
/** Neither root nor the image's user. */
export const USER = 12345;

/** Two CPUs for each of three pods are not here; everything else is as it is. */
const PATCHES = `patches:
  - target: {kind: Deployment, name: chairlift}
    patch: |-
      - {op: replace, path: /spec/template/spec/containers/0/resources/requests/cpu, value: 100m}
      - {op: replace, path: /spec/template/spec/securityContext/runAsUser, value: ${USER}}
`;

export class Site {
  readonly #kubectl: Kubectl;
  readonly #namespace: string;
  readonly #components: readonly string[];
  readonly #patches: string;

  /**
   * @param namespace of its own
   * @param patches further ones, as lines of the kustomization's list
   */
  constructor(kubectl: Kubectl, namespace: string, components: readonly string[], patches = '') {
    this.#kubectl = kubectl;
    this.#namespace = namespace;
    this.#components = components;
    this.#patches = patches;
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#kubectl.run(`--namespace=${this.#namespace}`, ...args);
  }

  /** @param secret of the Secret `chairlift`, by variable */
  async apply(secret: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#kubectl.run('create', 'namespace', this.#namespace);
    const literals = Object.entries(secret).map(
      ([name, value]) => `--from-literal=${name}=${value}`,
    );
    if (literals.length > 0)
      await this.kubectl('create', 'secret', 'generic', 'chairlift', ...literals);
    const folder = editedCopy('site', withComponents(this.#components));
    try {
      appendFileSync(join(folder, 'site/kustomization.yaml'), PATCHES + this.#patches);
      await this.kubectl('apply', '-k', join(folder, 'site'));
    } finally {
      rmSync(folder, { recursive: true });
    }
    await this.settled();
  }

  /** Waits until there are as many pods as there should be, all of them ready, and none that end. */
  async settled(): Promise<void> {
    await this.kubectl('rollout', 'status', 'deployment/chairlift', '--timeout=600s');
    while ((await this.pods()).some(({ ends }) => ends))
      await new Promise((go) => setTimeout(go, 500));
  }

  async pods(): Promise<Pod[]> {
    const { items } = JSON.parse(await this.kubectl('get', 'pods', '-o', 'json')) as PodList;
    return items.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      ends: metadata.deletionTimestamp !== undefined,
      node: spec.nodeName,
      address: status.podIP ?? '',
      container: status.containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '',
      restarts: status.containerStatuses?.[0]?.restartCount ?? 0,
    }));
  }

  /** Kills the server of a pod, as if there was no memory left. */
  async kill({ node, container }: Pod): Promise<void> {
    const task = ['tasks', 'kill', '--all', '--signal=SIGKILL', container];
    await findMachine(node).run('ctr', '--namespace=k8s.io', ...task);
  }

  /** Address of the Service, within the cluster. */
  async url(): Promise<string> {
    const path = 'jsonpath={.spec.clusterIP}';
    return `http://${await this.kubectl('get', 'service', 'chairlift', '-o', path)}`;
  }

  /** Names of what the Service serves. */
  async models(): Promise<string[]> {
    const ask = findMachine('node1').inNetwork('curl', '-sS', `${await this.url()}/v1/models`);
    const [program, ...args] = ask;
    const { stdout } = await promisify(execFile)(program, args);
    return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id);
  }

  async remove(): Promise<void> {
    await this.#kubectl.run('delete', 'namespace', this.#namespace, '--timeout=300s');
  }
}

export interface Pod {
  readonly name: string;
  readonly ends: boolean;
  readonly node: string;
  /** IP address, once it has one. */
  readonly address: string;
  /** containerd's id. */
  readonly container: string;
  readonly restarts: number;
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName: string };
    readonly status: {
      readonly podIP?: string;
      readonly containerStatuses?: readonly {
        readonly containerID?: string;
        readonly restartCount: number;
      }[];
    };
  }[];
}

/** Clients on a node, which come in by the Service. */
export class Load {
  readonly #script: MachineScript;

  private constructor(script: MachineScript) {
    this.#script = script;
  }

  /** Resolves when an undisturbed run of all streams is over and they have begun again. */
  static async start(url: string, way: 'plain' | 'resumable', streams: number): Promise<Load> {
    const script = new MachineScript('node1', 'load.ts', url, way, String(streams));
    await script.next(UNDISTURBED);
    return new Load(script);
  }

  /** Lets the answers that are under way end. */
  async end(): Promise<Seen> {
    return seenSchema.parse(await this.#script.end());
  }
}
