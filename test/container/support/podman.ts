/** Containers of the images, run by podman and runc on this machine's network. */
import { execFileSync, spawnSync } from 'node:child_process';
import { freePorts } from '../../support/free-ports.ts';
import { until } from '../../support/processes.ts';
import { ask } from '../../../src/cli/server/probe.ts';
import { RUN_OPTIONS, storeEnv } from '../../../scripts/container/store.ts';

const env = storeEnv();

/** @throws Error with what it printed, when it fails */
export function podman(...args: readonly string[]): string {
  return execFileSync('podman', args, { env, encoding: 'utf8', stdio: 'pipe', maxBuffer: 2 ** 26 });
}

/** Output of a program in a container of its own. */
export function printed(image: string, ...command: readonly string[]): string {
  return podman('--runtime', 'runc', 'run', '--rm', ...RUN_OPTIONS, image, ...command).trim();
}

export class Container {
  readonly #id: string;
  readonly url: string;

  private constructor(id: string, url: string) {
    this.#id = id;
    this.url = url;
  }

  /** @param options of `podman run`. @param environment PORT is added */
  static async start(
    image: string,
    options: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Container> {
    const [port = 0] = await freePorts(1);
    const set = { PORT: String(port), CHAIRLIFT_HOST: '127.0.0.1', ...environment };
    const scheme = 'CHAIRLIFT_TLS_CERT' in set ? 'https' : 'http';
    const flags = Object.entries(set).map(([name, value]) => `--env=${name}=${value}`);
    const run = ['run', '--detach', '--init', ...RUN_OPTIONS, ...flags, ...options, image];
    const container = new Container(
      podman('--runtime', 'runc', ...run).trim(),
      `${scheme}://${set.CHAIRLIFT_HOST}:${port}`,
    );
    try {
      await until(() => container.#isReady(), 'the start of the container');
      return container;
    } catch (error) {
      const log = container.log();
      container.remove();
      throw new Error(`${String(error)}\n${log}`, { cause: error });
    }
  }

  async #isReady(): Promise<boolean> {
    if (this.state('Status') !== 'running') throw new Error('the container has ended');
    return ask(new URL(`${this.url}/ready`)).then(
      () => true,
      () => false,
    );
  }

  /** A field of its state, such as `ExitCode`. */
  state(field: string): string {
    return podman('inspect', '--format', `{{.State.${field}}}`, this.#id).trim();
  }

  /** Whether the image's HEALTHCHECK passes now. */
  isHealthy(): boolean {
    return spawnSync('podman', ['healthcheck', 'run', this.#id], { env }).status === 0;
  }

  log(): string {
    const { stdout, stderr } = spawnSync('podman', ['logs', this.#id], { env });
    return stdout.toString() + stderr.toString();
  }

  /** As `docker stop`: the image's signal. Returns at once. */
  signal(): void {
    podman('kill', '--signal=SIGTERM', this.#id);
  }

  async ended(): Promise<number> {
    await until(() => this.state('Status') === 'exited', 'the end of the container');
    return Number(this.state('ExitCode'));
  }

  remove(): void {
    podman('rm', '--force', '--time=0', this.#id);
  }
}
