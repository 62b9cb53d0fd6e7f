/**
 * Compiles native/ to a library for each platform, the same bytes every time: with Debian 12's g++ 12.2
 * and its cross compiler. Users need none of it, the libraries come with the package.
 *
 *   npm run build:native -- [linux-x64] [linux-arm64] [--out <folder>]
 *
 * A hash in a library tells its sources, see `sourcesHash`; libraries.json has the library's own.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileAll, LINK_FLAGS, platformOf, PLATFORMS, sources, sourcesHash } from './compile.ts';

/** @returns the library's hash */
function build(name: string, folder: string): string {
  const platform = platformOf(name);
  const work = mkdtempSync(join(tmpdir(), 'chairlift-native-'));
  const objects = compileAll(platform, work);
  mkdirSync(join(folder, name), { recursive: true });
  const library = join(folder, name, 'libchairlift.so');
  const link = [...LINK_FLAGS, ...objects, '-lm', '-o', library];
  execFileSync(platform.linker, link, { stdio: 'inherit' });
  execFileSync(platform.strip, ['--strip-all', library], { stdio: 'inherit' });
  rmSync(work, { recursive: true });
  return createHash('sha256').update(readFileSync(library)).digest('hex');
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: join(sources, 'prebuilt') } },
});
const list = join(values.out, 'libraries.json');
const libraries: Record<string, unknown> = existsSync(list)
  ? (JSON.parse(readFileSync(list, 'utf8')) as Record<string, unknown>)
  : {};
for (const platform of positionals.length > 0 ? positionals : Object.keys(PLATFORMS)) {
  const sha256 = build(platform, values.out);
  libraries[platform] = { sha256, sources: sourcesHash() };
  console.log(`${platform}: ${sha256}`);
}
const sorted = Object.entries(libraries).sort(([a], [b]) => (a < b ? -1 : 1));
writeFileSync(list, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
