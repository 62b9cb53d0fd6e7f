/** Qwen3.5-MoE and Qwen3-VL-MoE as they are published: experts stacked, inside a model that sees. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { SafetensorsWeights } from '../../../src/model/huggingface/safetensors.ts';
import { HYBRID_FIXTURES } from '../../support/family-text.ts';
import { tensorShapes } from '../../support/gguf-family.ts';
import { floatTensor, type RawTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { visionFolder } from '../../support/vision.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const APART = join(HYBRID_FIXTURES, 'qwen3.5-moe');
const [LAYERS, EXPERTS, HIDDEN, WIDTH] = [2, 4, 32, 8];

async function open(path: string) {
  const folder = await inspectModelFolder(path);
  if (folder.kind !== 'huggingface') throw new TypeError('a folder of safetensors');
  return { config: folder.config, weights: await folder.open() };
}

test('experts that are stacked are those that are apart', async () => {
  const apart = await open(APART);
  const shapes = await tensorShapes(join(APART, 'model.safetensors'));
  const stored: Record<string, RawTensor> = {};
  const add = (name: string, shape: readonly number[], values: readonly number[]) => {
    const inside = name.replace(/^model\./, 'model.language_model.');
    stored[inside] = floatTensor(shape, Float32Array.from(values));
  };
  for (let layer = 0; layer < LAYERS; layer++) {
    const prefix = `model.layers.${layer}.mlp.experts`;
    const all = { gateUp: [] as number[], down: [] as number[] };
    for (let expert = 0; expert < EXPERTS; expert++) {
      const read = (kind: string, shape: readonly number[]) =>
        apart.weights.get(`${prefix}.${expert}.${kind}_proj.weight`, shape);
      all.gateUp.push(...(await read('gate', [WIDTH, HIDDEN])));
      all.gateUp.push(...(await read('up', [WIDTH, HIDDEN])));
      all.down.push(...(await read('down', [HIDDEN, WIDTH])));
    }
    add(`${prefix}.gate_up_proj`, [EXPERTS, 2 * WIDTH, HIDDEN], all.gateUp);
    add(`${prefix}.down_proj`, [EXPERTS, HIDDEN, WIDTH], all.down);
  }
  for (const [name, shape] of shapes) {
    if (name.includes('.experts.')) continue;
    add(name, shape, [...(await apart.weights.get(name, shape))]);
  }
  const path = await temporaryDirectory();
  await writeSafetensors(join(path, 'model.safetensors'), stored);
  const config: unknown = JSON.parse(await readFile(join(APART, 'config.json'), 'utf8'));
  const outer = { model_type: 'qwen3_5_moe', text_config: config };
  await writeFile(join(path, 'config.json'), JSON.stringify(outer));

  const { config: found, weights } = await open(path);
  expect(found).toEqual(apart.config);
  for (const [name, shape] of shapes) {
    expect(await weights.get(name, shape), name).toEqual(await apart.weights.get(name, shape));
  }
  await Promise.all([weights.close(), apart.weights.close()]);
});

test('experts that are apart may be quantized as other matrices are', async () => {
  const apart = await open(APART);
  const stored: Record<string, RawTensor> = {};
  const filled = (dtype: string, shape: readonly [number, number], byte: number): RawTensor => {
    const bytes = new Uint8Array(shape[0] * shape[1]).fill(byte);
    return { dtype, shape, bytes };
  };
  for (const [name, shape] of await tensorShapes(join(APART, 'model.safetensors'))) {
    if (!/\.experts\.\d+\.(gate|up)_proj\.weight$/.test(name)) {
      stored[name] = floatTensor(shape, await apart.weights.get(name, shape));
      continue;
    }
    // All of them 1 in E2M1 and 1 in E4M3, divided by 2.
    stored[`${name}_packed`] = filled('U8', [WIDTH, HIDDEN / 2], 0x22);
    stored[`${name}_scale`] = filled('F8_E4M3', [WIDTH, HIDDEN / 16], 0x38);
    stored[`${name}_global_scale`] = floatTensor([1], Float32Array.of(2));
  }
  const path = await temporaryDirectory();
  await writeSafetensors(join(path, 'model.safetensors'), stored);
  const config: object = JSON.parse(await readFile(join(APART, 'config.json'), 'utf8'));
  const quantization = { quant_method: 'compressed-tensors', format: 'nvfp4-pack-quantized' };
  const quantized = { ...config, quantization_config: quantization };
  await writeFile(join(path, 'config.json'), JSON.stringify(quantized));

  const { weights } = await open(path);
  const name = 'model.layers.1.mlp.experts.3.up_proj.weight';
  const halves = new Float32Array(WIDTH * HIDDEN).fill(0.5);
  expect(await weights.get(name, [WIDTH, HIDDEN])).toEqual(halves);
  expect(weights.layout?.(name, [WIDTH, HIDDEN])).toMatchObject({ bits: 8, blockSize: 16 });
  await Promise.all([weights.close(), apart.weights.close()]);
});

test("Qwen3-VL's experts are the same in columns, as published, and in rows, as Transformers 5 saves them", async () => {
  const published = visionFolder('qwen3-vl-moe');
  const [count, wide, width] = [6, 32, 12];
  const columns = await open(published);
  const path = await temporaryDirectory();
  await cp(published, path, { recursive: true });
  const stored: Record<string, RawTensor> = {};
  const weights = await SafetensorsWeights.open([join(published, 'model.safetensors')]);
  for (const name of weights.names()) {
    const { shape = [] } = weights.entry(name) ?? {};
    const all = await weights.get(name, shape);
    const [experts = 0, from = 0, to = 0] = shape;
    const isStacked = name.includes('.mlp.experts.');
    const turned = isStacked ? turnedAll(all, from, to) : all;
    stored[name] = floatTensor(isStacked ? [experts, to, from] : shape, turned);
  }
  await weights.close();
  await writeSafetensors(join(path, 'model.safetensors'), stored);
  const rows = await open(path);
  for (let expert = 0; expert < count; expert++) {
    for (const [kind, shape] of [
      ['gate', [width, wide]],
      ['up', [width, wide]],
      ['down', [wide, width]],
    ] as const) {
      const name = `model.layers.2.mlp.experts.${expert}.${kind}_proj.weight`;
      expect(await rows.weights.get(name, shape)).toEqual(await columns.weights.get(name, shape));
    }
  }
  await Promise.all([rows.weights.close(), columns.weights.close()]);
});

/** Each expert's [rows, columns] as [columns, rows]. */
function turnedAll(values: Float32Array, rows: number, columns: number): Float32Array {
  return values.map((_, index) => {
    const [expert, at] = [Math.floor(index / (rows * columns)), index % (rows * columns)];
    const [column, row] = [Math.floor(at / rows), at % rows];
    return values[expert * rows * columns + row * columns + column] ?? NaN;
  });
}
