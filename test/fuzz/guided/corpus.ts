/** Inputs that are kept, a file each: `corpus/<target>/<hash>`. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Target } from './target.ts';

const ROOT = new URL('../corpus/', import.meta.url);

const folderOf = (target: string): string => fileURLToPath(new URL(`${target}/`, ROOT));

/** Inputs that a target begins with. */
export function inputsOf({ name, seeds }: Target): Buffer[] {
  const folder = folderOf(name);
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  return [
    ...seeds.map((seed) => Buffer.from(seed)),
    ...files.map((file) => readFileSync(folder + file)),
  ];
}

/** Puts `inputs` in place of what was kept of a target. */
export function keep(target: string, inputs: readonly Uint8Array[]): void {
  const folder = folderOf(target);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const input of inputs) {
    const name = createHash('sha256').update(input).digest('hex').slice(0, 16);
    writeFileSync(folder + name, input);
  }
}
