/**
 * Fetches the schemas that the tests check deploy with, from Go modules, about 90 MB of which 7 MB are
 * kept, and builds kustomize where there is no kubectl: `npx tsx scripts/kubernetes/fetch.ts`. Needs Go.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import {
  COMPOSE_SCHEMA,
  KUSTOMIZE,
  KUSTOMIZE_MODULE,
  SCHEMA_MODULES,
  type SchemaModule,
  schemaPath,
} from './schemas.ts';

const downloaded = z.object({ Dir: z.string(), Sum: z.string() });

/** @throws Error when the module is not the one that is expected */
async function fetchModule({ module, sum, files }: SchemaModule): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-schemas-'));
  try {
    const answer = execFileSync('go', ['mod', 'download', '-json', module], {
      cwd: folder,
      env: { ...process.env, GOPATH: join(folder, 'go'), GOFLAGS: '-mod=mod -modcacherw' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { Dir: path, Sum: found } = downloaded.parse(JSON.parse(answer.toString()));
    if (found !== sum) throw new Error(`${module} has the hash ${found}, not ${sum}`);
    for (const file of files) {
      const target = schemaPath(file);
      await mkdir(dirname(target), { recursive: true });
      // Under another name until it is whole.
      const unfinished = `${target}.${process.pid}`;
      await copyFile(join(path, file), unfinished);
      await rename(unfinished, target);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Go's checksum database vouches for the sources. */
function installKustomize(): void {
  execFileSync('go', ['install', KUSTOMIZE_MODULE], {
    env: { ...process.env, GOBIN: dirname(KUSTOMIZE) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

const isThere = async (file: string) => (await stat(schemaPath(file)).catch(() => null)) !== null;

for (const each of [...SCHEMA_MODULES, COMPOSE_SCHEMA]) {
  const there = await Promise.all(each.files.map(isThere));
  if (there.includes(false)) await fetchModule(each);
  for (const file of each.files)
    console.log(`${schemaPath(file)} (${each.module}, ${each.license})`);
}

const renders = (program: string) => spawnSync(program, ['--help']).status === 0;
if (!renders('kubectl') && !renders(KUSTOMIZE)) installKustomize();
