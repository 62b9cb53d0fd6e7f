/** deploy/compose and deploy/cloud-run are what their programs take, and fit the server that they run. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Command } from 'commander';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { COMPOSE_SCHEMA, schemaPath } from '../../scripts/kubernetes/schemas.ts';
import { addOptions, ALL_OPTIONS } from '../../src/cli/options.ts';
import { documents, hasSchemas, loadSchemas } from './manifests.ts';

const FOLDER = 'deploy/compose';
const SCHEMA = schemaPath(COMPOSE_SCHEMA.files[0] ?? '');
const hasSchema = existsSync(SCHEMA);
if (!hasSchema)
  console.warn("*** Compose's schema is not here: IT WILL NOT BE CHECKED AGAINST IT.");

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

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
      }),
    ),
  })
  .parse(file);
const replicas = Object.entries(services).filter(([, { image }]) => image.includes('chairlift'));

describe.skipIf(!hasSchema)("compose's schema", () => {
  const check = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(
    JSON.parse(readFileSync(SCHEMA, 'utf8')) as object,
  );

  test('takes the file, and nothing wrong', () => {
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

test('replicas have flags that there are, and time to drain', () => {
  const known = new Set(addOptions(new Command(), ALL_OPTIONS).options.map(({ envVar }) => envVar));
  for (const [, { environment: flags, stop_grace_period: grace = '0s' }] of replicas) {
    expect(Object.keys(flags).filter((name) => !known.has(name))).toEqual([]);
    const drain = ['DRAIN_DELAY', 'SHUTDOWN_TIMEOUT'].map((name) => flags[`CHAIRLIFT_${name}`]);
    const needed = drain.reduce((sum, seconds) => sum + Number(seconds), 0);
    expect(parseInt(grace, 10)).toBeGreaterThanOrEqual(needed + 5);
  }
});

test('files that it mounts are there, and Prometheus watches what runs', () => {
  const mounted = Object.values(services)
    .flatMap(({ volumes }) => volumes)
    .filter((volume) => volume.startsWith('.'))
    .map((volume) => join(FOLDER, volume.split(':')[0] ?? ''));
  expect(mounted.length).toBe(3);
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
  expect(hosts.filter((host) => services[host] === undefined)).toEqual([]);
  expect(hosts.length).toBe(replicas.length + 1);
});

test.skipIf(!hasPromtool)('Prometheus takes its configuration', () => {
  // The rules are elsewhere there; they have a test of their own.
  const path = join(FOLDER, 'prometheus.yaml');
  const checked = spawnSync('promtool', ['check', 'config', '--syntax-only', path]);
  expect(checked.stderr.toString() + checked.stdout.toString()).toContain('SUCCESS');
});

describe.skipIf(!hasSchemas)('Cloud Run', () => {
  const manifests = documents(readFileSync('deploy/cloud-run/service.yaml', 'utf8'));

  test('the service is what Knative takes', () => {
    expect(manifests.length).toBe(1);
    expect(manifests.flatMap(loadSchemas())).toEqual([]);
  });
});
