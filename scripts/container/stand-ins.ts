/** Makes the images of deploy/compose that are not ours where no registry of images can be reached. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { fromImage } from './base-image.ts';
import { buildah, hasImage } from './store.ts';

/** Debian has no Grafana: this one says which files it was given. */
const GRAFANA = `
  const { readdirSync } = require('node:fs');
  const files = ['/etc/grafana/provisioning', '/var/lib/grafana/dashboards'].flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => folder + '/' + name));
  require('node:http').createServer((_, response) => response.end(JSON.stringify(files))).listen(3000);
`;

/** Debian's programs, with as much of what the official images say as the file relies on. */
const STAGES: Readonly<Record<string, string>> = {
  haproxy: `USER haproxy
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]`,
  redis: `WORKDIR /data
USER redis`,
  prometheus: `RUN mkdir /prometheus && chown nobody /prometheus
USER nobody
ENTRYPOINT ["prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]`,
  grafana: `USER nobody
CMD ${JSON.stringify(['node', '-e', GRAFANA])}`,
};

const composeSchema = z.object({ services: z.record(z.string(), z.object({ image: z.string() })) });

/**
 * Under the names that the file says; nothing where there are images of these names.
 * @throws Error when Debian's packages cannot be fetched
 */
export function makeStandIns(env: NodeJS.ProcessEnv, composeFile: string): void {
  const { services } = composeSchema.parse(
    parse(readFileSync(composeFile, 'utf8'), { merge: true }),
  );
  const context = mkdtempSync(join(tmpdir(), 'chairlift-stand-ins-'));
  try {
    const file = join(context, 'Containerfile');
    const stages = Object.entries(STAGES).map(
      ([name, lines]) => `FROM packages AS ${name}\n${lines}\n`,
    );
    writeFileSync(
      file,
      `FROM ${fromImage('Dockerfile').name} AS packages
RUN apt-get update && apt-get install -y --no-install-recommends haproxy redis-server prometheus
${stages.join('')}`,
    );
    const options = ['--isolation=chroot', '--format=docker', '--layers', '--quiet'];
    for (const target of Object.keys(STAGES)) {
      const image = services[target]?.image ?? '';
      if (hasImage(env, image)) continue;
      const names = [`--target=${target}`, `--tag=${image}`, `--file=${file}`];
      buildah(env, 'bud', ...options, ...names, context);
    }
  } finally {
    rmSync(context, { recursive: true });
  }
}
