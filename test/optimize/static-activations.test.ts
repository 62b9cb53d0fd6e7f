/** Constant scales of activations: found as plain code finds them, and what they are folded into. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { buildDecoderGraph } from '../../src/model/graph/decoder-graph.ts';
import { layerMatrices } from '../../src/model/graph/layer-matrices.ts';
import type { NumberFormats } from '../../src/model/graph/number-formats.ts';
import { type DecoderConfig, parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';
import { smoothedWeights } from '../../src/model/static/smoothed-weights.ts';
import { parseModel } from '../../src/onnx/parsed-model.ts';
import { calibrateActivations } from '../../src/optimize/calibration/calibrate-activations.ts';
import { LayerwiseDecoder } from '../../src/optimize/calibration/layerwise-decoder.ts';
import {
  findStaticActivations,
  MOST_LOST,
} from '../../src/optimize/calibration/static-activations.ts';
import { DecoderRun } from '../support/decoder-run.ts';
import { FAMILY_FIXTURES, LAYERWISE_FAMILIES } from '../support/families.ts';
import { linearInputs } from '../support/linear-inputs.ts';
import { everyOrLong } from '../support/long-runs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const scratch = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
afterAll(() => rm(scratch, { recursive: true, force: true }));

const LENGTH = 24;

/** The same texts each time. */
function texts(vocabSize: number, count = 3): Int32Array[] {
  return Array.from({ length: count }, (_, text) =>
    Int32Array.from({ length: LENGTH }, (__, i) => (text * 7919 + i * 104_729 + i * i) % vocabSize),
  );
}

function find(config: DecoderConfig, weights: WeightSource, over = texts(config.vocabSize)) {
  return findStaticActivations(
    { config, weights },
    over,
    (of) =>
      new LayerwiseDecoder(
        { config, weights: of },
        { longest: LENGTH, folder: scratch, threads: 1 },
      ),
  );
}

interface Built {
  readonly logits: Float32Array;
  /** Names of its nodes' outputs. */
  readonly values: ReadonlySet<string>;
}

async function run(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
): Promise<Built> {
  const path = join(await temporaryDirectory(), 'decoder.onnx');
  await buildDecoderGraph(config, weights, formats).write(path);
  const { graph } = parseModel(await readFile(path));
  const decoder = await DecoderRun.create(path, config, 1, LENGTH);
  const [text = new Int32Array()] = texts(config.vocabSize, 1);
  const [logits = new Float32Array()] = await decoder.step({
    ids: [Array.from(text)],
    lengths: [LENGTH],
  });
  await decoder.release();
  return { logits, values: new Set(graph.node.flatMap(({ output }) => output)) };
}

/** Root of the mean square of what differs, of the logits' own. */
function deviation(actual: Float32Array, wanted: Float32Array): number {
  const square = (values: Float32Array) => values.reduce((sum, value) => sum + value * value, 0);
  return Math.sqrt(square(wanted.map((value, i) => value - (actual[i] ?? NaN))) / square(wanted));
}

describe.each(everyOrLong(3, LAYERWISE_FAMILIES))('%s', (name) => {
  test('smoothing leaves float32 logits as they are, and int8 near them', async () => {
    const folder = await inspectModelFolder(join(FAMILY_FIXTURES, name), 64);
    if (folder.kind !== 'huggingface') throw new Error(`${name} has no weights`);
    const { config } = folder;
    const weights = await folder.open();
    const { factors, steps, losses } = await find(config, weights);
    const matrices = Array.from({ length: config.numLayers }, (_, layer) =>
      layerMatrices(config, layer),
    ).flat();
    expect(losses.map((loss) => loss.name)).toEqual(matrices.map((matrix) => matrix.name));
    // Not a smoothing that changes nothing.
    const furthest = [...factors.values()].flatMap(({ columns = [] }) =>
      Array.from(columns, (factor) => Math.abs(Math.log(factor))),
    );
    expect(Math.max(...furthest)).toBeGreaterThan(0.3);

    const smoothed = smoothedWeights(weights, factors);
    const plain = await run(config, weights, { precision: 'fp32' });
    const folded = await run(config, smoothed, { precision: 'fp32' });
    expect(deviation(folded.logits, plain.logits)).toBeLessThan(2e-5);
    const rounded = await run(config, smoothed, { precision: 'int8-static', steps });
    expect(deviation(rounded.logits, plain.logits)).toBeLessThan(0.1);
    await weights.close();
  });
});

describe('scales', () => {
  const config = parseDecoderConfig(PRESETS.tiny, 'tiny');
  const weights = new RandomWeights(5);

  /** By name of the linear layer: its matrix, row by row, and how it is in the checkpoint. */
  async function matrixOf(source: WeightSource, name: string) {
    const found = layerMatrices(config, Number(name.split('.')[1])).find(
      (matrix) => matrix.name === name,
    );
    if (found === undefined) throw new Error(`no ${name}`);
    const { tensors, columns } = found;
    const rows: Float32Array[] = [];
    for (const tensor of tensors) {
      const values = await source.get(tensor.name, [tensor.rows, columns]);
      for (let row = 0; row < tensor.rows; row++) {
        rows.push(values.slice(row * columns, (row + 1) * columns));
      }
    }
    return { rows, columns, tensors };
  }

  const inRows = (values: Float32Array, columns: number) =>
    Array.from({ length: values.length / columns }, (_, row) =>
      values.slice(row * columns, (row + 1) * columns),
    );
  const largest = (rows: readonly Float32Array[], column: number) =>
    Math.max(...rows.map((row) => Math.abs(row[column] ?? 0)));

  test('are those that plain code finds over recorded activations', async () => {
    const over = texts(config.vocabSize);
    const { factors, steps, losses } = await find(config, weights, over);
    const smoothed = smoothedWeights(weights, factors);
    const recorded = await Promise.all(over.map((text) => linearInputs(config, weights, text)));
    const after = await Promise.all(over.map((text) => linearInputs(config, smoothed, text)));
    expect(losses).toHaveLength(8);
    for (const { name, constant, byToken } of losses) {
      const { rows, columns, tensors } = await matrixOf(weights, name);
      const all = (of: readonly Map<string, Float32Array>[]) =>
        of.flatMap((text) => inRows(text.get(name) ?? new Float32Array(), columns));

      // Heads that read the same values: two query heads for each.
      const perHead = config.numHeads / config.numKvHeads;
      const isOutput = name.endsWith('attention.output');
      const group = (column: number) =>
        isOutput
          ? Array.from({ length: columns }, (_, other) => other).filter(
              (other) =>
                other % config.headDim === column % config.headDim &&
                Math.floor(other / config.headDim / perHead) ===
                  Math.floor(column / config.headDim / perHead),
            )
          : [column];
      const factor = (column: number) => {
        const most = (of: readonly Float32Array[]) =>
          Math.max(...group(column).map((other) => largest(of, other)));
        return Math.sqrt(most(all(recorded)) / most(rows));
      };
      const found = factors.get(tensors[0]?.name ?? '')?.columns ?? new Float32Array();
      // Norms are folded after the rows of values and ups, whose largest weights then are others.
      const isLast = isOutput || name.endsWith('mlp.down');
      for (const column of isLast ? [0, 5, 17, columns - 1] : []) {
        expect((found[column] ?? 0) / factor(column)).toBeCloseTo(1, 4);
      }

      const { rows: weightRows } = await matrixOf(smoothed, name);
      const inputs = all(after);
      for (const column of [1, columns - 2]) {
        const ratio = largest(inputs, column) * (found[column] ?? 0);
        expect(ratio / largest(all(recorded), column)).toBeCloseTo(1, 4);
        // As large as the weights that it is multiplied with; of heads that share values, the largest.
        const evened = (of: readonly Float32Array[]) =>
          Math.max(...group(column).map((other) => largest(of, other)));
        expect(evened(inputs) / evened(weightRows)).toBeCloseTo(1, 3);
      }
      const reach = Math.max(...Array.from({ length: columns }, (_, i) => largest(inputs, i)));
      const times = (x: readonly number[]) =>
        weightRows.map((row) => row.reduce((sum, weight, i) => sum + weight * (x[i] ?? 0), 0));
      const square = (values: readonly number[]) => values.reduce((sum, v) => sum + v * v, 0);
      const lossOf = (stepOf: (x: Float32Array) => number) => {
        const shares = inputs.map((x) => {
          const step = stepOf(x);
          const lost = Array.from(x, (value) => {
            const integer = Math.min(127, Math.max(-128, Math.round(value / step)));
            return integer * step - value;
          });
          return square(times(lost)) / square(times(Array.from(x)));
        });
        return Math.sqrt(shares.reduce((sum, share) => sum + share, 0) / shares.length);
      };
      const tried = [1, 0.85, 0.7, 0.55].map((share) => (share * reach) / 127);
      const lost = tried.map((step) => lossOf(() => step));
      const best = Math.min(...lost);
      expect(constant / best).toBeCloseTo(1, 2);
      expect((steps.get(name) ?? 0) / (tried[lost.indexOf(best)] ?? 0)).toBeCloseTo(1, 4);
      const ofToken = lossOf((x) => Math.max(...x.map(Math.abs)) / 127);
      expect(byToken / ofToken).toBeCloseTo(1, 2);
    }
  });

  /**
   * MLPs of layer 1 that give a thousand times as much after one token as after others: what no factor of
   * channels evens out.
   */
  const LOUD = 7;
  const loud: WeightSource = {
    async get(name, shape) {
      const values = await weights.get(name, shape);
      const { hiddenSize } = config;
      const embedding = await weights.get('model.embed_tokens.weight', [
        config.vocabSize,
        hiddenSize,
      ]);
      const direction = embedding.slice(LOUD * hiddenSize, (LOUD + 1) * hiddenSize);
      if (name === 'model.embed_tokens.weight') {
        // So that layers before it change little.
        return values.map((value, i) => (Math.floor(i / hiddenSize) === LOUD ? 50 * value : value));
      }
      if (!/layers\.1\.mlp\.(gate|up)_proj/.test(name)) return values;
      return values.map((value, i) => value + 20 * (direction[i % hiddenSize] ?? 0));
    },
    close: async () => {},
  };

  test('a layer that a constant scale would lose is left to scales of tokens', async () => {
    const over = texts(config.vocabSize).map((text) => text.with(3, LOUD));
    const { factors, steps, losses } = await find(config, loud, over);
    const bad = 'layers.1.mlp.down';
    const loss = losses.find(({ name }) => name === bad);
    expect(loss?.constant).toBeGreaterThan(MOST_LOST);
    expect(loss?.byToken).toBeLessThan(MOST_LOST);
    expect(losses.filter(({ name }) => !steps.has(name)).map(({ name }) => name)).toEqual([bad]);

    const smoothed = smoothedWeights(loud, factors);
    const { values } = await run(config, smoothed, { precision: 'int8-static', steps });
    const byToken = losses.filter(({ name }) => values.has(`${name}/MatMul/Unscaled`));
    expect(byToken.map(({ name }) => name)).toEqual([bad]);
  });
});

test.each(['gpt2', 'gpt-neox', 'gpt-neox-sequential', 'phi', 'mixtral', 'olmoe'])(
  '%s is refused by what it has',
  async (name) => {
    const source = { kind: 'folder', path: join(FAMILY_FIXTURES, name) } as const;
    const cacheDirectory = await temporaryDirectory();
    const calibration = { texts: null, threads: 1, onProgress: () => {} };
    await expect(calibrateActivations(source, { cacheDirectory }, calibration)).rejects.toThrow(
      name.includes('moe') || name === 'mixtral'
        ? /has experts/
        : /int8-static takes .*: not (gpt|phi)/,
    );
  },
);

test('a model is calibrated with texts that it writes itself, the same each time', async () => {
  const source = { kind: 'random', config: PRESETS.tiny, seed: 5 } as const;
  const cacheDirectory = await temporaryDirectory();
  const calibrated = () => {
    const heard = new Set<string>();
    const calibration = { texts: null, threads: 1, onProgress: (what: string) => heard.add(what) };
    return calibrateActivations(source, { cacheDirectory }, calibration).then((found) => ({
      ...found,
      heard: [...heard],
    }));
  };
  const first = await calibrated();
  expect(first.steps.size).toBe(8);
  expect(first.heard).toEqual(['writing texts to calibrate with', 'calibrating activations']);
  expect(await calibrated()).toEqual(first);
  // The builds it computed with are gone; the one that wrote the texts stays.
  expect(await readdir(join(cacheDirectory, 'models'))).toHaveLength(1);
});
