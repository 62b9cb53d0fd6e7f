/** Facts about the cluster of this machine, so that it can be found and taken down. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { Machine, type OwnFolders } from './machine.ts';

/** One cluster at a time. */
export const STATE = join(tmpdir(), 'chairlift-cluster');
/** Name of the control group of all pods. */
export const CGROUP = 'chairlift-cluster';
const CGROUPS = '/sys/fs/cgroup';
const FILE = join(STATE, 'state.json');
/** Settings of the kernel that a kubelet changes for all. */
const SYSCTLS = ['vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops'];

const stateSchema = z.object({
  machines: z.array(z.object({ name: z.string(), pid: z.int(), startTime: z.string() })),
  sysctls: z.record(z.string(), z.string()),
});
type State = z.infer<typeof stateSchema>;

const sysctlPath = (name: string) => `/proc/sys/${name}`;
const logsOf = (name: string) => join(STATE, 'logs', name);

function read(): State | null {
  return existsSync(FILE) ? stateSchema.parse(JSON.parse(readFileSync(FILE, 'utf8'))) : null;
}

/** @throws Error when there is a cluster already */
export function begin(): void {
  if (read() !== null) throw new Error(`${STATE} has a cluster: take it down first`);
  mkdirSync(STATE, { recursive: true, mode: 0o700 });
  const sysctls = SYSCTLS.map((name) => [name, readFileSync(sysctlPath(name), 'utf8').trim()]);
  writeFileSync(FILE, JSON.stringify({ machines: [], sysctls: Object.fromEntries(sysctls) }));
}

/** Starts a machine, which `end` will take down. */
export async function startMachine(name: string, own?: OwnFolders): Promise<Machine> {
  const machine = await Machine.start(name, logsOf(name), own);
  const state = read();
  if (state === null) throw new Error('no cluster has been begun');
  writeFileSync(FILE, JSON.stringify({ ...state, machines: [...state.machines, machine.entry] }));
  return machine;
}

/** @throws Error when it isn't there */
export function findMachine(name: string): Machine {
  const entry = read()?.machines.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`there is no machine ${name}`);
  return new Machine(entry, logsOf(name));
}

/** Kills all machines and leaves no trace of them. Does nothing where there is no cluster. */
export async function end(): Promise<void> {
  const state = read();
  if (state === null) return;
  const machines = state.machines.map((entry) => new Machine(entry, logsOf(entry.name)));
  await Promise.all(machines.map((machine) => machine.kill()));
  for (const [name, value] of Object.entries(state.sysctls)) writeFileSync(sysctlPath(name), value);
  // One tree, or one for each controller.
  for (const controller of ['.', ...readdirSync(CGROUPS)]) {
    removeCgroup(join(CGROUPS, controller, CGROUP));
  }
  rmSync(STATE, { recursive: true });
}

/** Only folders can be removed; the files in them are the kernel's. */
function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  }
  rmdirSync(path);
}
