import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readServiceClasses } from '../../../src/serving/server/slo.ts';

describe('--slo', () => {
  it('takes a file in YAML', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'slo-')), 'slo.yaml');
    await writeFile(
      file,
      'best: interactive\nclasses:\n  interactive: { ttft_ms: 300, itl_ms: null }\n  batch: { share: 0.5 }\n',
    );
    const { best, classes, usual } = await readServiceClasses(file);
    expect([best, usual.name]).toMatchObject([{ ttftMs: 300, itlMs: null }, 'standard']);
    expect(classes.at(-1)).toMatchObject({ name: 'batch', share: 0.5, tiers: ['flex'] });
  });

  it('takes its text, in JSON or YAML', async () => {
    for (const text of [
      '{"default":"batch","classes":{"batch":{"service_tier":"cheap"}}}',
      '{default: batch, classes: {batch: {service_tier: cheap}}}',
    ]) {
      expect((await readServiceClasses(text)).usual).toMatchObject({ tiers: ['cheap'] });
    }
  });

  it('leaves the usual classes as they are', async () => {
    expect((await readServiceClasses(undefined)).classes).toHaveLength(4);
  });

  it.each([
    ['{classes: {batch: {share: 2}}}', /--slo: .*\n?.*classes.batch.share/s],
    ['{classes: {batch: {priorty: 2}}}', /there is no `priorty`/],
    ['{best: gold}', /there is no service class 'gold'/],
    ['{classes: ', /--slo: /],
    ['/nowhere/slo.yaml', /nowhere/],
  ])('refuses %s', async (text, message) => {
    await expect(readServiceClasses(text)).rejects.toThrow(message);
  });
});
