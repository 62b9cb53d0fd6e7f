/** deploy/systemd is what systemd takes, hardened, and fits the server that it runs. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SERVE_FLAGS } from '../../src/settings/flag-sets.ts';
import { variablesOf } from '../../src/settings/flags/flag-spec.ts';
import { specOf } from '../../src/settings/options.ts';
import { needs, program } from '../support/needs.ts';

const UNIT = readFileSync('deploy/systemd/chairlift.service', 'utf8');
/** The largest exposure that `systemd-analyze security` may find, of 10. */
const MOST_EXPOSED = 1.5;

/** Prints of systemd-analyze for a unit whose program is there. */
function analyze(unit: string, ...args: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'chairlift-unit-'));
  const path = join(folder, 'chairlift.service');
  try {
    writeFileSync(path, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    const { stdout, stderr, status } = spawnSync('systemd-analyze', [...args, path]);
    return `${stdout.toString()}${stderr.toString()}exit code ${status}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('systemd', needs(program('systemd-analyze', 'systemd')), () => {
  test('finds nothing wrong with the unit', () => {
    expect(analyze(UNIT, 'verify')).toBe('exit code 0');
    expect(analyze(UNIT.replace('KillMode=mixed', 'KillMode=some'), 'verify')).toContain(
      'kill mode',
    );
  });

  test('finds it well hardened', () => {
    const report = analyze(UNIT, 'security', '--offline=true');
    const [, exposure] =
      /Overall exposure level for chairlift.service: ([\d.]+)/.exec(report) ?? [];
    expect(Number(exposure)).toBeLessThanOrEqual(MOST_EXPOSED);
  });
});

test('sets flags that there are, and gives a drain its time', () => {
  const known = new Set(SERVE_FLAGS.flatMap((name) => variablesOf(specOf(name))));
  const set = Array.from(UNIT.matchAll(/^Environment=(\w+)=/gm), ([, name = '']) => name);
  const others = set.filter((name) => !known.has(name));
  expect(others).toEqual(['NODE_ENV']);
  const numberOf = (setting: string) => Number(new RegExp(`${setting}=(\\d+)`).exec(UNIT)?.[1]);
  expect(numberOf('TimeoutStopSec')).toBeGreaterThanOrEqual(numberOf('SHUTDOWN_TIMEOUT') + 5);
});
