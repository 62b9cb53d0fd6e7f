import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { towerParameters } from '../../../src/model/vision/tower-size.ts';
import { inspectedVision, VISION_MODELS, visionFolder } from '../../support/vision.ts';

type Header = Record<string, { readonly shape?: readonly number[] }>;

async function headerOf(name: string): Promise<Header> {
  const file = await open(join(visionFolder(name), 'model.safetensors'));
  try {
    const size = Buffer.alloc(8);
    await file.read(size, 0, 8, 0);
    const header = Buffer.alloc(Number(size.readBigUInt64LE()));
    await file.read(header, 0, header.length, 8);
    return JSON.parse(header.toString()) as Header;
  } finally {
    await file.close();
  }
}

test.each(VISION_MODELS)('the weights of %s are those in its file', async (name) => {
  const { config } = await inspectedVision(name, 'tiles');
  const stored = Object.entries(await headerOf(name)).filter(([tensor]) =>
    /^model\.(vision_model|connector)\./.test(tensor),
  );
  const sizes = stored.map(([, { shape = [] }]) => shape.reduce((all, side) => all * side, 1));
  expect(towerParameters(config.shape)).toBe(sizes.reduce((sum, size) => sum + size, 0));
});
