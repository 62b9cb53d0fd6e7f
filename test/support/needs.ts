/**
 * Skips tests that need more than Node.js, npm and git where it is missing. `skip-reporter.ts` lists them at
 * the end of a run, with what was missing; a test that is skipped in another way is an error there.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { SuiteOptions } from 'vitest';
import { MACHINE } from '../../scripts/arm64/machine.ts';
import { hugePageBytes } from '../../src/ort/huge-pages.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Requirement of a skipped test. */
    needs?: string;
  }
}

export interface Requirement {
  /** With how to get it. */
  readonly name: string;
  readonly isThere: boolean;
}

/** Options of a test or a suite. A suite's own code runs all the same: it must not read what is missing. */
export function needs(...requirements: readonly Requirement[]): SuiteOptions {
  const missing = requirements.filter(({ isThere }) => !isThere).map(({ name }) => name);
  return missing.length === 0 ? {} : { skip: true, meta: { needs: missing.join(' and ') } };
}

/** A program in PATH. @param debianPackage that has it, if its name is another one */
export function program(name: string, debianPackage?: string): Requirement {
  return registryProgram(name, debianPackage && `Debian: ${debianPackage}`);
}

/** @param source where it can be had, such as `npm: @openai/codex` */
export function registryProgram(name: string, source?: string): Requirement {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return {
    name: source === undefined ? name : `${name} (${source})`,
    isThere: folders.some((folder) => existsSync(join(folder, name))),
  };
}

/** Package of the `python3` in PATH. @param name of PyPI, if its module is called otherwise */
export function pythonPackage(module: string, name = module): Requirement {
  const find = `import importlib.util, sys; sys.exit(importlib.util.find_spec('${module}') is None)`;
  const { status } = spawnSync('python3', ['-c', find], { stdio: 'ignore' });
  return { name: `${module} (PyPI: ${name})`, isThere: status === 0 };
}

export const LINUX: Requirement = { name: 'Linux', isThere: process.platform === 'linux' };
export const LINUX_X64: Requirement = {
  name: 'Linux x64',
  isThere: LINUX.isThere && process.arch === 'x64',
};
export const HUGE_PAGES: Requirement = {
  name: 'transparent huge pages (/sys/kernel/mm/transparent_hugepage/enabled)',
  isThere: hugePageBytes() !== null,
};
export const REAL_PROCESSOR: Requirement = {
  name: 'a processor that is not emulated (qemu ignores madvise)',
  isThere: process.execPath !== MACHINE.wrapper,
};
export const C_COMPILER = program('cc', 'gcc and libc6-dev');
export const HAPROXY = program('haproxy');
export const KUBECTL = program('kubectl');
export const PROMTOOL = program('promtool', 'prometheus');
export const REDIS = program('redis-server');
