/** deploy/compose and deploy/cloud-run are what their programs take, and fit the server that they run. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { COMPOSE_SCHEMA, schemaPath } from '../../scripts/kubernetes/schemas.ts';
import { SERVE_FLAGS } from '../../src/settings/flag-sets.ts';
import { variablesOf } from '../../src/settings/flags/flag-spec.ts';
import { specOf } from '../../src/settings/options.ts';
import { needs, PROMTOOL } from '../support/needs.ts';
import { documents, loadSchemas, schemas } from './manifests.ts';

const FOLDER = 'deploy/compose';
const SCHEMA = schemaPath(COMPOSE_SCHEMA.files[0] ?? '');

const text = readFileSync(join(FOLDER, 'compose.yaml'), 'utf8');
const file: unknown = parse(text, { merge: true });
const environment = z.record(z.string(), z.string().nullable()).default({});
const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.object({
        image: z.string(),
        environment,
        volumes: z.array(z.string()).default([]),
        stop_grace_period: z.string().optional(),
        cpus: z.string().optional(),
        mem_limit: z.string().optional(),
      }),
    ),
  })
  .parse(file);
const replicas = Object.entries(services).filter(([, { image }]) => image.includes('chairlift'));

test("compose's schema takes the file, and nothing wrong", needs(schemas([COMPOSE_SCHEMA])), () => {
  const schema = JSON.parse(readFileSync(SCHEMA, 'utf8')) as object;
  const check = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(
    schema,
  );
  check(file);
  expect(check.errors ?? []).toEqual([]);
  for (const [right, wrong] of [
    ['stop_grace_period:', 'stop_grace_time:'],
    ['read_only: true', 'read_only: [maybe]'],
    ['services:', 'servers:'],
  ] as const) {
    expect(text).toContain(right);
    expect(check(parse(text.replace(right, wrong))), wrong).toBe(false);
  }
});

test('HAProxy has the replicas, by the names that it knows them by', () => {
  const config = readFileSync('deploy/haproxy/haproxy.cfg', 'utf8');
  const addresses = Object.entries(services['haproxy']?.environment ?? {});
  expect(replicas.map(([name]) => name)).toEqual(['one', 'two', 'three']);
  for (const [index, [name]] of replicas.entries()) {
    expect(addresses).toContainEqual([`CHAIRLIFT_${index + 1}`, `${name}:8000`]);
    expect(config).toMatch(new RegExp(`server ${name} +"\\$\\{CHAIRLIFT_${index + 1}\\}"`));
  }
  const known = addresses.every(([name]) => config.includes(`presetenv ${name} `));
  expect(known).toBe(true);
});

test('HAProxy gives a replica that comes up its share over five seconds, whatever is asked', () => {
  const config = readFileSync('deploy/haproxy/haproxy.cfg', 'utf8');
  const limited = config.split('\n').filter((line) => / default-server maxconn /.test(line));
  expect(limited.map((line) => line.trim())).toEqual(
    Array(2).fill('default-server maxconn 40 slowstart 5s'),
  );
});

test('replicas have flags that there are, and time to drain', () => {
  const known = new Set(SERVE_FLAGS.flatMap((name) => variablesOf(specOf(name))));
  for (const [, { environment: flags, stop_grace_period: grace = '0s' }] of replicas) {
    const unknown = Object.keys(flags).filter((name) => !known.has(name));
    expect(unknown).toEqual([]);
    const drain = ['DRAIN_DELAY', 'SHUTDOWN_TIMEOUT'].map((name) => flags[`CHAIRLIFT_${name}`]);
    const needed = drain.reduce((sum, seconds) => sum + Number(seconds), 0);
    expect(parseInt(grace, 10)).toBeGreaterThanOrEqual(needed + 5);
  }
});

test('each replica has its share of the machine, by variables whose defaults fit', () => {
  expect(replicas.length).toBe(3);
  for (const [, { cpus, mem_limit: memory, environment: flags }] of replicas) {
    expect(cpus).toBe('${CHAIRLIFT_THREADS:-1}');
    expect(flags['CHAIRLIFT_THREADS']).toBe(cpus);
    expect(memory).toBe('${REPLICA_MEMORY:-2g}');
    expect(flags['CHAIRLIFT_KV_CACHE_MEMORY']).toBe('${CHAIRLIFT_KV_CACHE_MEMORY:-512m}');
    for (const name of ['API_KEY', 'ADMIN_API_KEY', 'ALLOWED_HOST', 'MODEL']) {
      expect(flags[`CHAIRLIFT_${name}`], name).toBeNull();
    }
  }
});

test("Grafana's provisioning names what is mounted, and the Prometheus of the file", () => {
  const read = (name: string): unknown =>
    parse(readFileSync(join(FOLDER, 'grafana', name), 'utf8'));
  const { providers } = z
    .object({ providers: z.tuple([z.object({ options: z.object({ path: z.string() }) })]) })
    .parse(read('dashboards.yaml'));
  const { datasources } = z
    .object({ datasources: z.tuple([z.object({ type: z.string(), url: z.string() })]) })
    .parse(read('datasources.yaml'));
  expect(services['grafana']?.volumes).toContain(`../grafana:${providers[0].options.path}:ro`);
  expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090' }]);
});

test('files that it mounts are there, and Prometheus watches what runs', () => {
  const mounted = Object.values(services)
    .flatMap(({ volumes }) => volumes.map((volume) => volume.replace(/^\$\{\w+:-(.*?)\}/, '$1')))
    .filter((volume) => volume.startsWith('.'))
    .map((volume) => join(FOLDER, volume.split(':')[0] ?? ''));
  // Three are the models of the replicas.
  expect(mounted.length).toBe(3 + 6);
  expect(mounted.filter((path) => !existsSync(path))).toEqual([]);
  const config = z
    .object({
      rule_files: z.tuple([z.string()]),
      scrape_configs: z.array(
        z.object({
          job_name: z.string(),
          static_configs: z.tuple([z.object({ targets: z.array(z.string()) })]),
        }),
      ),
    })
    .parse(parse(readFileSync(join(FOLDER, 'prometheus.yaml'), 'utf8')));
  const targets = config.scrape_configs.flatMap(({ static_configs: [{ targets: of }] }) => of);
  const hosts = targets.map((target) => target.split(':')[0] ?? '');
  for (const [name, { environment: flags }] of replicas) {
    expect(targets).toContain(`${name}:${flags['CHAIRLIFT_METRICS_PORT']}`);
  }
  expect(hosts.filter((host) => services[host] === undefined)).toEqual([]);
  expect(hosts.length).toBe(replicas.length + 1);
});

test('Prometheus takes its configuration', needs(PROMTOOL), () => {
  // The rules are elsewhere there; they have a test of their own.
  const path = join(FOLDER, 'prometheus.yaml');
  const checked = spawnSync('promtool', ['check', 'config', '--syntax-only', path]);
  expect(checked.stderr.toString() + checked.stdout.toString()).toContain('SUCCESS');
});

describe('Cloud Run', needs(schemas()), () => {
  const manifests = documents(readFileSync('deploy/cloud-run/service.yaml', 'utf8'));

  test('the service is what Knative takes', () => {
    expect(manifests.length).toBe(1);
    expect(manifests.flatMap(loadSchemas())).toEqual([]);
  });
});
