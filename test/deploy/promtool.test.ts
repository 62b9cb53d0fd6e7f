/** The rules and the dashboards' queries, as Prometheus' own tool sees them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs, PROMTOOL } from '../support/needs.ts';
import { DASHBOARD_EXPRESSIONS, RULES_FOLDER } from './monitored.ts';

/** @throws Error with its output, when it fails */
function promtool(...args: string[]): string {
  return execFileSync('promtool', args, { cwd: RULES_FOLDER, encoding: 'utf8', stdio: 'pipe' });
}

describe('promtool', needs(PROMTOOL), () => {
  test('finds nothing wrong with the rules', () => {
    expect(promtool('check', 'rules', 'rules.yaml')).toMatch(/SUCCESS: \d+ rules found/);
  });

  test('sees each alert fire, and stay silent, when it should', () => {
    expect(promtool('test', 'rules', 'rules.test.yaml')).toContain('SUCCESS');
  });

  test("understands the dashboards' queries", () => {
    const folder = mkdtempSync(join(tmpdir(), 'chairlift-queries-'));
    const rules = DASHBOARD_EXPRESSIONS.map((expr, index) => ({
      record: `query:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const path = join(folder, 'queries.json');
    writeFileSync(path, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    try {
      expect(promtool('check', 'rules', path)).toContain(`SUCCESS: ${rules.length} rules found`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
