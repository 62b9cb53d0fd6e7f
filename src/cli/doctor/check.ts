/** Result of one check of `chairlift doctor`. */
export interface Check {
  /** Name of the check, such as `memory`. */
  readonly name: string;
  /** `warning`: the server works, but worse than it could; `broken`: it would not work. */
  readonly status: 'ok' | 'warning' | 'broken';
  readonly found: string;
  /** Advice to the user; null where all is well. */
  readonly advice: string | null;
}

export function ok(name: string, found: string): Check {
  return { name, status: 'ok', found, advice: null };
}

export function warning(name: string, found: string, advice: string): Check {
  return { name, status: 'warning', found, advice };
}

export function broken(name: string, found: string, advice: string): Check {
  return { name, status: 'broken', found, advice };
}

/** As a table, with what to do below each problem. */
export function checkTable(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, status, found, advice }) => {
    const row = `${status.padEnd(8)} ${name.padEnd(width)}  ${found}`;
    return advice === null ? [row] : [row, `${' '.repeat(width + 11)}-> ${advice}`];
  });
  return lines.join('\n');
}
