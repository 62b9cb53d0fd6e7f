// Writes a bill of materials (CycloneDX) of what is installed with the package to stdout: with hashes,
// for all platforms, out of the lock file.
// `npm sbom --omit dev` leaves out what a development package needs too, such as zod and ws. So it gets
// to see a package without development packages.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const { devDependencies: _, ...manifest } = read('package.json');
const lock = read('package-lock.json');
delete lock.packages[''].devDependencies;
for (const [place, { dev }] of Object.entries(lock.packages)) if (dev) delete lock.packages[place];

const parent = mkdtempSync(join(tmpdir(), 'chairlift-sbom-'));
// npm names the whole by its folder.
const folder = join(parent, manifest.name);
try {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  const { status } = spawnSync('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(parent, { recursive: true, force: true });
}
