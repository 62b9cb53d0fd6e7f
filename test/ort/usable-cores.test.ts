import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { usableCores } from '../../src/ort/usable-cores.ts';

const roots: string[] = [];

/** A file system with just these files. */
function fileSystem(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'chairlift-cores-'));
  roots.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

/** Eight logical cores, two to a physical one, as Linux numbers them: 0 and 4 share one. */
function machine(allowed: string, files: Readonly<Record<string, string>> = {}): string {
  const topology = Array.from({ length: 8 }, (_, cpu) => [
    `sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`,
    `${cpu % 4},${(cpu % 4) + 4}\n`,
  ]);
  const status = `Name:\tnode\nCpus_allowed_list:\t${allowed}\nMems_allowed_list:\t0\n`;
  return fileSystem({ ...Object.fromEntries(topology), 'proc/self/status': status, ...files });
}

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

it('counts physical cores', () => {
  expect(usableCores(machine('0-7'))).toBe(4);
});

it('counts only those that the process is allowed on', () => {
  expect(usableCores(machine('0-1,4'))).toBe(2);
  expect(usableCores(machine('7'))).toBe(1);
});

it('keeps within a quota of cgroup v2, of the group or of one around it', () => {
  const inner = { 'proc/self/cgroup': '0::/a/b\n', 'sys/fs/cgroup/a/b/cpu.max': 'max 100000\n' };
  expect(usableCores(machine('0-7', inner))).toBe(4);
  const outer = { ...inner, 'sys/fs/cgroup/a/cpu.max': '250000 100000\n' };
  expect(usableCores(machine('0-7', outer))).toBe(2);
});

it('keeps within a quota of cgroup v1, seen from inside a container', () => {
  const files = {
    'proc/self/cgroup': '3:cpu,cpuacct:/docker/0123\n1:name=systemd:/\n',
    'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '300000\n',
    'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  };
  expect(usableCores(machine('0-7', files))).toBe(3);
  const without = { ...files, 'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n' };
  expect(usableCores(machine('0-7', without))).toBe(4);
});

it('is one for a quota of less', () => {
  const half = { 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/cpu.max': '50000 100000\n' };
  expect(usableCores(machine('0-7', half))).toBe(1);
});

it('takes all logical cores where nothing is said', () => {
  expect(usableCores(fileSystem({}))).toBe(availableParallelism());
});

it('leaves out the efficiency cores of Intel', () => {
  const hybrid = {
    'sys/devices/cpu_core/cpus': '0-1,4-5\n',
    'sys/devices/cpu_atom/cpus': '2-3,6-7\n',
  };
  expect(usableCores(machine('0-7', hybrid))).toBe(2);
  expect(usableCores(machine('1-3', hybrid))).toBe(1);
  // Nothing else is allowed.
  expect(usableCores(machine('2-3', hybrid))).toBe(2);
});

it('leaves out the little cores of Arm', () => {
  const capacities = [1024, 1024, 250, 250, 1024, 870, 250, 250];
  const big = capacities.map((capacity, cpu) => [
    `sys/devices/system/cpu/cpu${cpu}/cpu_capacity`,
    `${capacity}\n`,
  ]);
  expect(usableCores(machine('0-7', Object.fromEntries(big)))).toBe(2);
  expect(usableCores(machine('2-3', Object.fromEntries(big)))).toBe(2);
});
