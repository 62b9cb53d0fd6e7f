/** Where a model that sees reads text alone. */
import pino from 'pino';
import { expect, test } from 'vitest';
import { visionOf } from '../../../src/serving/loading/open-vision.ts';
import { inspectedVision } from '../../support/vision.ts';

type Plan = Parameters<typeof visionOf>[1];

interface Given {
  readonly vision: Plan['chosen']['vision'];
  readonly device?: string;
  readonly nativeKernels?: Plan['kernels']['nativeKernels'];
  readonly kvCacheDtype?: Plan['options']['kvCacheDtype'];
}

/** Opens the part that sees, where there is no library of our own: what it sees, and what the log says. */
async function seen({ vision, device = 'cpu', nativeKernels, kvCacheDtype = 'auto' }: Given) {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(line) });
  const plan = {
    chosen: { vision },
    chosenDevice: { device: { name: device } },
    choice: { activationDtype: 'float32' },
    kernels: { nativeKernels, description: null },
    options: { kvCacheDtype },
  };
  const load = () => Promise.resolve({ missing: 'there are none for this CPU' });
  const found = await visionOf('model', plan as unknown as Plan, logger, load);
  const logged = lines.map((line) => String((JSON.parse(line) as Record<string, unknown>)['msg']));
  return { sees: found !== null, logged: logged.join('\n') };
}

test('attention that is not causal takes our own kernels, or else the model reads text and says so', async () => {
  const gemma = await inspectedVision('gemma3', 'square');
  const smolvlm = await inspectedVision('smolvlm', 'tiles');
  const nativeKernels = { kvCacheDtype: 'int8' } as const;
  expect(await seen({ vision: gemma, nativeKernels })).toEqual({ sees: true, logged: '' });
  expect(await seen({ vision: smolvlm })).toEqual({ sees: true, logged: '' });
  const llava = await inspectedVision('llava', 'square');
  expect(await seen({ vision: llava })).toEqual({ sees: true, logged: '' });
  const without = await seen({ vision: gemma });
  expect(without.sees).toBe(false);
  expect(without.logged).toBe(
    'its images take our own kernels: there are none for this CPU: this model reads text',
  );
  const int8 = await seen({ vision: gemma, kvCacheDtype: 'int8' });
  expect(int8.sees).toBe(false);
  expect(int8.logged).toMatch(/own kernels where --kv-cache-dtype is int8/);
  const gpu = await seen({ vision: smolvlm, device: 'webgpu' });
  expect(gpu).toEqual({
    sees: false,
    logged: 'images are taken on the CPU alone: this model reads text',
  });
  expect(await seen({ vision: null })).toEqual({ sees: false, logged: '' });
});
