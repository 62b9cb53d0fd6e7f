/** deploy/compose as podman-compose runs it, on a network of its own; ports are those of the file. */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import {
  COMPOSE_PROGRAMS,
  composeEnv,
  IMAGES,
  missingPrograms,
} from '../../../scripts/container/store.ts';

const PROJECT = 'chairlift-test';
/** Name that podman-compose gives a container. */
const container = (service: string) => `${PROJECT}_${service}_1`;

const run = promisify(execFile);

/** Null where it can run. */
export function whyNoCompose(): string | null {
  const missing = missingPrograms(COMPOSE_PROGRAMS);
  if (missing.length > 0) return `${missing.join(' and ')} can't be run`;
  const env = composeEnv();
  const network = `${PROJECT}-probe`;
  spawnSync('podman', ['network', 'create', network], { env });
  const probe = ['run', '--rm', `--network=${network}`, IMAGES.bones, 'node', '--version'];
  const { status, stderr } = spawnSync('podman', probe, { env });
  spawnSync('podman', ['network', 'rm', network], { env });
  return status === 0 ? null : `no container gets a network of its own: ${stderr.toString()}`;
}

export class Compose {
  readonly #env = composeEnv();

  async up(): Promise<void> {
    const file = ['--file', 'deploy/compose/compose.yaml', '--project-name', PROJECT];
    // It says by its exit code nothing of what failed to start.
    await run('podman-compose', [...file, 'up', '--detach'], { env: this.#env });
  }

  /** @throws Error with what it printed, when it fails */
  async podman(...args: readonly string[]): Promise<string> {
    return (await run('podman', args, { env: this.#env })).stdout.trim();
  }

  /** As `docker compose stop`, with the file's time. */
  async stop(service: string): Promise<void> {
    await this.podman('stop', '--time=70', container(service));
  }

  async start(service: string): Promise<void> {
    await this.podman('start', container(service));
  }

  async addressOf(service: string): Promise<string> {
    const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
    return this.podman('inspect', '--format', format, container(service));
  }

  /** Bytes of memory, and CPUs, that a container may use. */
  async limitsOf(service: string): Promise<{ memory: number; cpus: number }> {
    const format = '{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}';
    const found = await this.podman('inspect', '--format', format, container(service));
    const [memory, nanoCpus] = found.split(' ').map(Number);
    return { memory: memory ?? NaN, cpus: (nanoCpus ?? NaN) / 1e9 };
  }

  /** Output of all so far. */
  logs(services: readonly string[]): string {
    return services
      .map((service) => {
        const { stdout, stderr } = spawnSync('podman', ['logs', '--tail=20', container(service)], {
          env: this.#env,
        });
        return `${service}:\n${stdout.toString()}${stderr.toString()}`;
      })
      .join('\n');
  }

  /** With all that is of the project, and of one that a run before has left. */
  async remove(): Promise<void> {
    const label = `--filter=label=io.podman.compose.project=${PROJECT}`;
    const containers = (await this.podman('ps', '--all', '--quiet', label)).split('\n');
    if (containers[0] !== '') await this.podman('rm', '--force', '--time=0', ...containers);
    for (const kind of ['volume', 'network']) {
      const found = (await this.podman(kind, 'ls', '--quiet', label)).split('\n');
      if (found[0] !== '') await this.podman(kind, 'rm', '--force', ...found);
    }
  }
}
