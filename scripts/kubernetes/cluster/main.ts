/**
 * A Kubernetes cluster of two nodes on this machine, with Chairlift's image:
 *
 *   npx tsx scripts/kubernetes/build.ts
 *   npx tsx scripts/container/build.ts
 *   npx tsx scripts/kubernetes/cluster/main.ts up
 *   npx tsx scripts/kubernetes/cluster/main.ts kubectl get pods
 *   npx tsx scripts/kubernetes/cluster/main.ts down
 *
 * Takes root. Its network is its own: nothing listens on this machine's addresses.
 */
import { spawnSync } from 'node:child_process';
import { clusterDown, clusterUp, kubectl } from './cluster.ts';
import { chairliftArchive } from './images.ts';

const [command, ...args] = process.argv.slice(2);
switch (command ?? '') {
  case 'up': {
    const started = performance.now();
    await clusterUp(() => [chairliftArchive('registry.example/chairlift:0.2.0', 'debian')]);
    console.log(`up after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    break;
  }
  case 'kubectl': {
    const [program, ...rest] = kubectl().command(...args);
    process.exitCode = spawnSync(program, rest, { stdio: 'inherit' }).status ?? 1;
    break;
  }
  case 'down':
    await clusterDown();
    break;
  default:
    throw new Error('up, down, or kubectl and its arguments');
}
