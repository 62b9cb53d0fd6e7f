/**
 * Whether this machine can build images and run them: `npx tsx scripts/container/probe.ts` ends with 0 if
 * so. One that is a container itself may not be allowed to.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildah, RUN_OPTIONS, storeEnv } from './store.ts';

/** A program without libraries, which podman needs as well. */
const PROGRAM = '/usr/bin/catatonit';
const NAME = 'localhost/chairlift-probe';

const env = storeEnv();
const context = mkdtempSync(join(tmpdir(), 'chairlift-probe-'));
try {
  copyFileSync(PROGRAM, join(context, 'program'));
  writeFileSync(join(context, 'Containerfile'), 'FROM scratch\nCOPY program /program\n');
  const options = ['--isolation=chroot', '--quiet', '--tag', NAME];
  buildah(env, 'bud', ...options, '--file', join(context, 'Containerfile'), context);
  const run = ['run', '--rm', ...RUN_OPTIONS, NAME, '/program', '--version'];
  execFileSync('podman', ['--runtime', 'runc', ...run], { env, stdio: 'inherit' });
} finally {
  rmSync(context, { recursive: true });
}
