/** Images of the cluster's pods, as archives that containerd takes. */
import { mkdirSync, mkdtempSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildah, IMAGES, storeEnv } from '../../container/store.ts';
import { STATE } from './state.ts';

export const PAUSE_IMAGE = 'localhost/pause:latest';

/** Program without libraries that waits, and waits for orphans. */
const PAUSE = '/usr/bin/catatonit';

/** Archive of the image that holds a pod's namespaces. */
export function pauseArchive(): string {
  const env = storeEnv();
  const context = mkdtempSync(join(tmpdir(), 'chairlift-pause-'));
  try {
    copyFileSync(PAUSE, join(context, 'pause'));
    const file = join(context, 'Containerfile');
    writeFileSync(file, 'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause", "-P"]\n');
    const options = ['--isolation=chroot', '--format=docker', '--quiet'];
    buildah(env, 'bud', ...options, '--tag', PAUSE_IMAGE, '--file', file, context);
  } finally {
    rmSync(context, { recursive: true });
  }
  return archive(env, PAUSE_IMAGE, PAUSE_IMAGE, 'pause');
}

/**
 * An image that scripts/container/build.ts has built.
 * @param name that manifests call it by
 */
export function chairliftArchive(name: string, root: keyof typeof IMAGES): string {
  return archive(storeEnv(), IMAGES[root], name, root);
}

function archive(env: NodeJS.ProcessEnv, image: string, name: string, file: string): string {
  const folder = join(STATE, 'images');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${file}.tar`);
  buildah(env, 'push', '--quiet', image, `docker-archive:${path}:${name}`);
  return path;
}
