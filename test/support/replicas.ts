import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { freePorts } from './free-ports.ts';
import { killNow, until } from './processes.ts';
import { engineOf, type ServerProcess, startServer } from './server-process.ts';

export const HAPROXY_CONFIG = 'deploy/haproxy/haproxy.cfg';
/** Names of the servers in that file. */
const NAMES = ['one', 'two', 'three'] as const;
export type ReplicaName = (typeof NAMES)[number];

export interface ReplicaOptions {
  /** Flags of each server. */
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Without it, every request goes to the replica with the fewest. */
  readonly affinity?: boolean;
}

/** Servers behind HAProxy with the configuration that we ship. None runs at first. */
export class Replicas {
  readonly url: string;
  readonly #ports: ReadonlyMap<ReplicaName, number>;
  readonly #running = new Map<ReplicaName, ServerProcess>();
  readonly #options: ReplicaOptions;
  readonly #operators: string;
  readonly #path: string;
  #haproxy: ChildProcess | undefined;
  #log = '';

  private constructor(options: ReplicaOptions, ports: readonly number[]) {
    const [bind = 0, operators = 0, ...servers] = ports;
    this.#options = options;
    this.url = `http://127.0.0.1:${bind}`;
    this.#operators = `http://127.0.0.1:${operators}`;
    this.#ports = new Map(NAMES.map((name, index) => [name, servers[index] ?? 0]));
    this.#path = join(tmpdir(), `chairlift-haproxy-${process.pid}-${bind}`);
  }

  /** Starts HAProxy, and those servers. */
  static async start(names: readonly ReplicaName[], options: ReplicaOptions = {}) {
    const ports = await freePorts(2 + NAMES.length);
    const replicas = new Replicas(options, ports);
    // The first builds the model for all.
    for (const name of names) await replicas.#startServer(name);
    await replicas.#startHaproxy();
    await replicas.seen(names);
    return replicas;
  }

  /** Log of HAProxy: a line for each request. */
  get log(): string {
    return this.#log;
  }

  /** By name, of those that run. */
  get running(): ReadonlyMap<ReplicaName, ServerProcess> {
    return this.#running;
  }

  /** One more; resolves when it gets traffic. */
  async add(name: ReplicaName): Promise<void> {
    await this.#startServer(name);
    await this.seen([name]);
  }

  /** Ends front and engine at once, as a machine that is gone. */
  async kill(name: ReplicaName): Promise<void> {
    const server = this.#take(name);
    const closed = once(server.child, 'close');
    killNow(engineOf(server));
    if (server.child.pid !== undefined) killNow(server.child.pid);
    await closed;
  }

  /** As Kubernetes stops a pod. @returns the exit code, once it has finished what ran */
  async drain(name: ReplicaName): Promise<number | null> {
    return this.#take(name).stop();
  }

  /** Resolves when HAProxy gives all of them requests. */
  async seen(names: readonly ReplicaName[]): Promise<void> {
    const isUp = async (name: ReplicaName) => (await this.status(name)).startsWith('UP');
    for (const name of names) await until(() => isUp(name), `replica ${name} is up`);
  }

  /** As on HAProxy's own page: `UP`, `NOLB`, `DOWN` and the like. */
  async status(name: ReplicaName): Promise<string> {
    return this.#figure('replicas', name, 'status');
  }

  /** Requests with a key of their prefix that a replica has now. */
  async streamsOf(name: ReplicaName): Promise<number> {
    return Number(await this.#figure('replicas_by_prefix', name, 'scur'));
  }

  async #figure(backend: string, name: ReplicaName, column: string): Promise<string> {
    const page = await (await fetch(`${this.#operators}/;csv`)).text();
    const [header = '', ...lines] = page.split('\n');
    const line = lines.find((each) => each.startsWith(`${backend},${name},`));
    return line?.split(',')[header.split(',').indexOf(column)] ?? '';
  }

  async stop(): Promise<void> {
    const haproxy = this.#haproxy;
    if (haproxy?.exitCode === null && haproxy.signalCode === null) {
      const closed = once(haproxy, 'close');
      haproxy.kill('SIGKILL');
      await closed;
    }
    await Promise.all([...this.#running.keys()].map((name) => this.drain(name)));
    for (const end of ['cfg', 'sock']) await rm(`${this.#path}.${end}`, { force: true });
  }

  #take(name: ReplicaName): ServerProcess {
    const server = this.#running.get(name);
    if (!server) throw new Error(`replica ${name} does not run`);
    this.#running.delete(name);
    return server;
  }

  async #startServer(name: ReplicaName): Promise<void> {
    const { args = [], env } = this.#options;
    const server = await startServer([...args, `--port=${this.#ports.get(name)}`], env);
    this.#running.set(name, server);
  }

  async #startHaproxy(): Promise<void> {
    const config = `${this.#path}.cfg`;
    await writeFile(config, configuration(this.#options.affinity ?? true));
    const address = (name: ReplicaName) => `127.0.0.1:${this.#ports.get(name)}`;
    const haproxy = spawn('haproxy', ['-db', '-f', config], {
      env: {
        ...process.env,
        CHAIRLIFT_BIND: new URL(this.url).host,
        CHAIRLIFT_OPERATORS: new URL(this.#operators).host,
        CHAIRLIFT_ADMIN: `${this.#path}.sock`,
        CHAIRLIFT_1: address('one'),
        CHAIRLIFT_2: address('two'),
        CHAIRLIFT_3: address('three'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#haproxy = haproxy;
    for (const output of [haproxy.stdout, haproxy.stderr]) {
      output.on('data', (chunk: Buffer) => (this.#log += chunk.toString()));
    }
    const answers = async () => {
      if (haproxy.exitCode !== null) throw new Error(`HAProxy ended:\n${this.#log}`);
      return fetch(`${this.#operators}/;csv`).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    await until(answers, 'the start of HAProxy');
  }
}

/** @throws Error when the file no longer has what is taken out */
function configuration(affinity: boolean): string {
  const text = readFileSync(HAPROXY_CONFIG, 'utf8');
  if (affinity) return text;
  const without = text.replace(/^ *use_backend replicas_by_prefix .*$/m, '');
  if (without === text) throw new Error(`${HAPROXY_CONFIG} has no affinity`);
  return without;
}
