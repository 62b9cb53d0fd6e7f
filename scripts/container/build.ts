/**
 * Builds the images of the Dockerfile, `chairlift:latest` and `chairlift:bones`, and what deploy/compose
 * runs beside them, without a Docker daemon: `npx tsx scripts/container/build.ts`. Needs root, buildah, and mmdebstrap for the image that
 * they start from.
 */
import { existsSync } from 'node:fs';
import { makeBaseImage } from './base-image.ts';
import { makeStandIns } from './stand-ins.ts';
import { buildah, COMPOSE_PROGRAMS, IMAGES, missingPrograms, storeEnv } from './store.ts';

/** Files of the machine that the build sees at the same paths: a registry may be behind a proxy with a certificate of its own. */
const OF_MACHINE = ['/etc/ssl/certs', '/usr/etc/npmrc:/usr/local/etc/npmrc'];

const env = storeEnv();
makeBaseImage(env, 'Dockerfile');
const volumes = OF_MACHINE.map((volume) => volume.split(':'))
  .filter(([from = '']) => existsSync(from))
  .map(([from, to = from]) => `--volume=${from}:${to}:ro`);
const options = ['--isolation=chroot', '--format=docker', '--layers', '--pull=false', ...volumes];
for (const [root, name] of Object.entries(IMAGES)) {
  buildah(env, 'bud', ...options, `--build-arg=ROOT=${root}`, `--tag=${name}`, '.');
}
if (missingPrograms(COMPOSE_PROGRAMS).length === 0) {
  makeStandIns(env, 'deploy/compose/compose.yaml');
}
// Layers that no image has any more, with containers that a test which was killed has left.
buildah(env, 'rmi', '--prune', '--force');
