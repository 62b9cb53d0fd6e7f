/** A folder with a section `image`, from the repository to answers; and those that do not fit. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { TENSOR_BATCHING } from '../../../src/front/batching/default-batching.ts';
import { TensorModel } from '../../../src/front/tensors/tensor-model.ts';
import { scanRepository } from '../../../src/front/registry/repository.ts';
import { ImagePool } from '../../../src/front/images/image-pool.ts';
import { ImageLoader } from '../../../src/serving/loading/image-loader.ts';
import { UsageError } from '../../../src/settings/usage-error.ts';
import { colorGraph } from '../../support/color-graph.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CALLER = { client: '', signal: new AbortController().signal };

async function definitionOf(image: object, labels: string) {
  const repository = await temporaryDirectory();
  const folder = join(repository, 'color');
  await mkdir(folder);
  await writeFile(join(folder, 'model.onnx'), colorGraph());
  await writeFile(join(folder, 'labels.txt'), labels);
  await writeFile(join(folder, 'chairlift.json'), JSON.stringify({ image }));
  const { definitions } = await scanRepository(repository);
  const [definition] = definitions;
  if (definition === undefined) throw new Error('no model was found');
  return definition;
}

test('labels come from the file, and what does not fit is told', async () => {
  const size = { height: 4, width: 4 };
  const { source, image } = await definitionOf({ size, labels: 'labels.txt' }, 'r\r\ng g\nb\n\n');
  if (!image) throw new Error('no section was found');
  const model = new TensorModel({
    source: { type: 'graph', path: join(source, 'model.onnx'), isBatched: null },
    threads: 1,
    runTimeoutMs: 60_000,
    batching: TENSOR_BATCHING,
  });
  onTestFinished(() => model.stop());
  await model.start();
  const pool = new ImagePool();
  onTestFinished(() => pool.close());
  const loader = new ImageLoader(pool);
  const classifier = await loader.open(model, image);
  const file = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#0f0' } })
    .png()
    .toBuffer();
  const classes = await classifier.classify(file, {}, CALLER);
  expect(classes.map(({ label }) => label)).toEqual(['g g', 'r', 'b']);

  const refused = async (change: object): Promise<string> => {
    const error: unknown = await loader
      .open(model, { ...image, ...change })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    return String(error);
  };
  expect(await refused({ size: { height: 5, width: 4 } })).toContain(
    'images become [1, 3, 5, 4] (NCHW), and the model\'s input "pixels" is [batch, 3, 4, 4]',
  );
  expect(await refused({ layout: 'NHWC' })).toContain('images become [1, 4, 4, 3] (NHWC)');
  expect(await refused({ output: 'x' })).toContain('no output "x"');
  expect(await refused({ labels: join(source, 'none.txt') })).toContain('no such file');
  await writeFile(join(source, 'two.txt'), 'a\nb');
  expect(await refused({ labels: join(source, 'two.txt') })).toContain('2 labels');
});

test.each(['../labels.txt', '/etc/passwd'])('labels in %s are refused', async (labels) => {
  const { problem, image } = await definitionOf({ crop_size: 4, labels }, '');
  expect(problem).toContain('chairlift.json names');
  expect(image).toBe(null);
});
