/** buildah and podman with a store of our own: the machine's images are left alone. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

const STORE = join(defaultCacheDirectory(), 'containers');

/** Images of the Dockerfile, by what they start from. */
export const IMAGES = { debian: 'localhost/chairlift:latest', bones: 'localhost/chairlift:bones' };

/** Limits that runc of Debian 12 can set in a container itself; and no network of its own. */
export const RUN_OPTIONS = [
  '--ulimit=nofile=1024:1024',
  '--ulimit=nproc=1024:1024',
  '--network=host',
];

const PROGRAMS = ['buildah', 'podman', 'runc'];
/** Programs that deploy/compose takes besides: networks in which containers have names. */
export const COMPOSE_PROGRAMS = [
  'podman-compose',
  '/usr/lib/podman/netavark',
  '/usr/lib/podman/aardvark-dns',
];

/** Programs to build and run images with that are not installed. */
export function missingPrograms(programs = PROGRAMS): string[] {
  return programs.filter((name) => spawnSync(name, ['--version']).status !== 0);
}

/** The environment that makes both use the store. */
export function storeEnv(): NodeJS.ProcessEnv {
  const config = join(STORE, 'storage.conf');
  const folders = `runroot = "${join(STORE, 'run')}"\ngraphroot = "${join(STORE, 'root')}"\n`;
  const env = { ...process.env, CONTAINERS_STORAGE_CONF: config };
  mkdirSync(STORE, { recursive: true });
  // Layers on top of each other, or copies of whole file systems where the kernel has no such thing.
  for (const driver of ['overlay', 'vfs']) {
    writeFileSync(config, `[storage]\ndriver = "${driver}"\n${folders}`);
    if (spawnSync('buildah', ['info'], { env }).status === 0) break;
  }
  return env;
}

/** The same for podman-compose, which does not say how podman is to run; networks are of the store, too. */
export function composeEnv(): NodeJS.ProcessEnv {
  const config = join(STORE, 'containers.conf');
  const networks = join(STORE, 'networks');
  writeFileSync(
    config,
    `[containers]
# HAProxy takes two files for each of its 4000 connections.
default_ulimits = ["nofile=10000:10000", "nproc=1024:1024"]
[engine]
runtime = "runc"
[network]
network_backend = "netavark"
network_config_dir = "${networks}"
`,
  );
  return { ...storeEnv(), CONTAINERS_CONF: config };
}

/** @throws Error when it fails; what it says is ours */
export function buildah(env: NodeJS.ProcessEnv, ...args: readonly string[]): void {
  execFileSync('buildah', args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
}

export function hasImage(env: NodeJS.ProcessEnv, name: string): boolean {
  return spawnSync('buildah', ['inspect', '--type', 'image', name], { env }).status === 0;
}
