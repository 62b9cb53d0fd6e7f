/** Writes deploy/grafana: `npx tsx scripts/grafana/write.ts && npm run format`. */
import { writeFileSync } from 'node:fs';
import { DASHBOARDS } from './dashboards.ts';
import { toGrafana } from './panels.ts';

for (const dashboard of DASHBOARDS) {
  const path = new URL(`../../deploy/grafana/${dashboard.file}.json`, import.meta.url);
  writeFileSync(path, `${JSON.stringify(toGrafana(dashboard), null, 2)}\n`);
}
