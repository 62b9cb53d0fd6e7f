/**
 * npm runs a script in a shell, and passes SIGTERM only to that shell, which dies of it. It does
 * not pass on SIGKILL and SIGHUP. So a server that npm started checks itself whether npm is still
 * there.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isAlive } from '../../threads/is-alive.ts';

const LOOK_MS = 500;

/** Scripts that run as long as the server: `npm start`, `npm run dev`, `npx chairlift`. */
const SCRIPTS: ReadonlySet<string | undefined> = new Set(['start', 'dev', 'npx']);

const SHELL = /(^|\/)-?(ba|da|z|k|a)?sh$/;

interface Process {
  readonly parent: number;
  readonly name: string;
}

/** Taken now: what has died later has left its children to another parent. */
const parent = process.ppid;
const isFromNpm = SCRIPTS.has(process.env['npm_lifecycle_event']);
const shell = isFromNpm ? lookUp(parent) : null;

/** Calls `onGone` once when npm started this process and is gone. */
export function onNpmGone(onGone: () => void): void {
  if (!isFromNpm) return;
  const timer = setInterval(() => {
    if (isNpmThere()) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS).unref();
}

function isNpmThere(): boolean {
  // Windows still reports the id of a parent that is gone.
  if (process.ppid !== parent || !isAlive(parent)) return false;
  // If the shell did not replace itself with this process, npm is the shell's parent.
  return shell === null || !SHELL.test(shell.name) || isAlive(shell.parent);
}

/** @returns null where the system does not say. */
function lookUp(pid: number): Process | null {
  try {
    const text =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^\d+ \((.*)\) \S (\d+) .*/s, '$2 $1')
        : execFileSync('ps', ['-o', 'ppid=,comm=', '-p', String(pid)]).toString();
    const [, ppid, name = ''] = /^\s*(\d+)\s+(.*?)\s*$/s.exec(text) ?? [];
    return ppid === undefined ? null : { parent: Number(ppid), name };
  } catch {
    return null;
  }
}
