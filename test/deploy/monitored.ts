/** Queries that the files in deploy/ send to Prometheus. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DEPLOY = new URL('../../deploy/', import.meta.url);

export const RULES_FOLDER = fileURLToPath(new URL('prometheus/', DEPLOY));
export const RULES = readFileSync(new URL('prometheus/rules.yaml', DEPLOY), 'utf8');
export const RULE_TESTS = readFileSync(new URL('prometheus/rules.test.yaml', DEPLOY), 'utf8');
export const ALERTS = [
  ...new Set(Array.from(RULES.matchAll(/- alert: (\w+)/g), ([, name = '']) => name)),
];
/** Without comments and texts. */
export const RULE_EXPRESSIONS = RULES.replaceAll(
  /#.*|(summary|runbook_url|name|record|alert): .*/g,
  '',
);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}

export interface StoredDashboard {
  readonly uid: string;
  readonly panels: readonly Panel[];
}

/** By name of their file, without its ending. */
export const STORED_DASHBOARDS = new Map(
  readdirSync(new URL('grafana/', DEPLOY)).map((name) => {
    const text = readFileSync(new URL(`grafana/${name}`, DEPLOY), 'utf8');
    return [name.replace('.json', ''), JSON.parse(text) as StoredDashboard] as const;
  }),
);

export const DASHBOARD_EXPRESSIONS = [...STORED_DASHBOARDS.values()].flatMap(({ panels }) =>
  panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
);
