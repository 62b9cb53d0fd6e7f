import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/**
 * CPU cores that this process may keep busy, at least 1: physical ones that it may run on, efficiency cores
 * aside, and no more than its container's quota pays for. Two threads of a core share its multipliers, a step
 * waits for its slowest thread, and threads beyond the quota get the whole process stopped until its next period.
 * Where the system does not say (anything but Linux), all logical cores.
 * @param root of the file system; for tests
 */
export function usableCores(root = '/'): number {
  const { cores, quota } = coreLimits(root);
  return Math.max(1, Math.min(cores, Math.floor(quota)));
}

export interface CoreLimits {
  /** Physical cores that this process may run on, the fast ones; logical ones where the system does not say. */
  readonly cores: number;
  /** Cores' worth of time that its container pays for; Infinity without a limit. */
  readonly quota: number;
}

/** Limits that `usableCores` takes the smaller of. */
export function coreLimits(root = '/'): CoreLimits {
  return { cores: physicalCores(root) ?? availableParallelism(), quota: cpuQuota(root) };
}

/** Distinct cores behind the logical ones that this process is allowed on. */
function physicalCores(root: string): number | null {
  const allowed = /^Cpus_allowed_list:\s*(\S+)$/m.exec(read(root, 'proc/self/status') ?? '')?.[1];
  if (allowed === undefined) return null;
  const siblings = fastCores(root, parseList(allowed)).map((cpu) =>
    read(root, `sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`),
  );
  return siblings.includes(null) ? null : new Set(siblings).size;
}

/** Logical cores without efficiency cores, where there are faster ones among them. */
function fastCores(root: string, cpus: readonly number[]): readonly number[] {
  // Intel's hybrid CPUs list their performance cores.
  const listed = read(root, 'sys/devices/cpu_core/cpus');
  if (listed !== null) {
    const performance = new Set(parseList(listed));
    const fast = cpus.filter((cpu) => performance.has(cpu));
    return fast.length > 0 ? fast : cpus;
  }
  // Arm's cores say what they do, the fastest 1,024; little ones are below 400.
  const capacities = cpus.map((cpu) =>
    Number(read(root, `sys/devices/system/cpu/cpu${cpu}/cpu_capacity`) ?? NaN),
  );
  const most = Math.max(...capacities);
  return Number.isNaN(most) ? cpus : cpus.filter((_, at) => (capacities[at] ?? 0) >= most / 2);
}

/** Such as `0-3,8`. */
function parseList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Cores' worth of time by the process's control group and those around it; Infinity without a limit. */
function cpuQuota(root: string): number {
  const groups = (read(root, 'proc/self/cgroup') ?? '').split('\n');
  const quotas = groups.flatMap((line) => {
    const [, controllers = '', path = ''] = line.split(':');
    if (controllers === '') return ancestors(path).map((group) => quotaV2(root, group));
    if (!controllers.split(',').includes('cpu')) return [];
    return ancestors(path).map((group) => quotaV1(root, group));
  });
  return Math.min(Infinity, ...quotas);
}

/** A group and all around it. In a container its path may be the host's: then only `/` is there. */
function ancestors(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return Array.from({ length: parts.length + 1 }, (_, length) => parts.slice(0, length).join('/'));
}

/** cpu.max: `200000 100000`, or `max 100000`. */
function quotaV2(root: string, group: string): number {
  const [quota, period] = (read(root, `sys/fs/cgroup/${group}/cpu.max`) ?? 'max').split(' ');
  return quota === 'max' ? Infinity : Number(quota) / Number(period);
}

function quotaV1(root: string, group: string): number {
  const folder = `sys/fs/cgroup/cpu/${group}`;
  const quota = Number(read(root, `${folder}/cpu.cfs_quota_us`) ?? -1);
  return quota < 0 ? Infinity : quota / Number(read(root, `${folder}/cpu.cfs_period_us`));
}

/** A file's text without the line break at its end; null where there is none. */
function read(root: string, path: string): string | null {
  try {
    return readFileSync(join(root, path), 'utf8').trimEnd();
  } catch {
    return null;
  }
}
