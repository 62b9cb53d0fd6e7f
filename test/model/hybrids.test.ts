/** Families whose layers have states: the logits of Transformers, however a text is cut and batched. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { countParameters } from '../../src/model/huggingface/parameter-count.ts';
import { tensorShapes } from '../support/gguf-family.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { deviation, HYBRID_FIXTURES, readReferences } from '../support/family-text.ts';
import { everyOrLong } from '../support/long-runs.ts';
import { StateRun } from '../support/state-run.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const NUM_SLOTS = 3;
const NUM_ROWS = 6;

type Built = Omit<BuildOptions, 'cacheDirectory'>;

async function open(name: string, maxModelLen: number, options: Built): Promise<StateRun> {
  const model = await prepareModel(
    { kind: 'folder', path: join(HYBRID_FIXTURES, name) },
    { ...options, maxModelLen, cacheDirectory: cache.path },
  );
  const run = new StateRun(model, NUM_SLOTS, maxModelLen, NUM_ROWS);
  onTestFinished(() => run.release());
  return run;
}

const int8: Built = { precision: 'int8', nativeKernels: { kvCacheDtype: 'float32' } };

const COMPUTED: readonly [string, Built, number][] = [
  ['fp32', { precision: 'fp32' }, 1e-5],
  ['fp16', { precision: 'fp16' }, 0.01],
  ['int8 of ONNX Runtime', { precision: 'int8' }, 0.1],
  ['int8', int8, 0.1],
  ['int8 with a cache of int8', { ...int8, nativeKernels: { kvCacheDtype: 'int8' } }, 0.1],
  ['int8-blocks', { ...int8, precision: 'int8-blocks' }, 0.1],
  ['int4', { ...int8, precision: 'int4' }, 0.7],
  ['int4-mixed', { ...int8, precision: 'int4-mixed' }, 0.7],
];

// Every third has another kind of state.
describe.each(everyOrLong(3, readdirSync(HYBRID_FIXTURES).toSorted()))('%s', (name) => {
  test('has as many parameters as its checkpoint', async () => {
    const folder = await inspectModelFolder(join(HYBRID_FIXTURES, name));
    if (folder.kind !== 'huggingface') throw new TypeError('a folder of safetensors');
    const shapes = await tensorShapes(join(folder.path, 'model.safetensors'));
    // Corrections of experts' scores are not trained.
    const trained = shapes.filter(([tensor]) => !/(expert|correction)_bias$/.test(tensor));
    const sizes = trained.map(([, shape]) => shape.reduce((product, dim) => product * dim, 1));
    expect(countParameters(folder.config)).toBe(sizes.reduce((sum, size) => sum + size, 0));
  });

  test('gives the logits and greedy tokens of Transformers', async () => {
    for (const { ids, greedy, maxModelLen, logitsAt } of await readReferences(
      name,
      HYBRID_FIXTURES,
    )) {
      const run = await open(name, maxModelLen, { precision: 'fp32' });
      const { tokens, first, last } = run.continue(ids, greedy.length);
      expect(tokens).toEqual(greedy);
      expect(deviation(first, logitsAt(ids.length))).toBeLessThan(1e-5);
      expect(deviation(last, logitsAt(ids.length + greedy.length))).toBeLessThan(1e-5);
    }
  });

  test.each(COMPUTED)(
    'in %s it computes the same chunk by chunk',
    async (_, options, tolerance) => {
      const [, long] = await readReferences(name, HYBRID_FIXTURES);
      const { ids = [], greedy = [], maxModelLen = 0, lengths = [], logitsAt } = long ?? {};
      const run = await open(name, maxModelLen, options);
      const all = [...ids, ...greedy];
      let [start, from] = [0, -1];
      for (const end of lengths) {
        const to = from === 0 ? 1 : 0;
        const [logits = []] = run.run([{ ids: all.slice(start, end), start, from, to }]);
        expect(deviation(logits, logitsAt?.(end) ?? [])).toBeLessThan(tolerance);
        [start, from] = [end, to];
      }
    },
  );

  test('on our kernels a text has the same bits however it is cut, padded or batched', async () => {
    const [, long] = await readReferences(name, HYBRID_FIXTURES);
    const { ids = [], maxModelLen = 0 } = long ?? {};
    const whole = await open(name, maxModelLen, int8);
    const [expected = new Float32Array()] = whole.run([{ ids, start: 0, from: -1, to: 0 }]);
    const cut = await open(name, maxModelLen, int8);
    const last = ids.length - 1;
    const other = ids.toReversed();
    cut.run([{ ids: ids.slice(0, 7), start: 0, from: -1, to: 0 }], 5);
    cut.run([{ ids: ids.slice(7, 9), start: 7, from: 0, to: 1 }]);
    // Two that decode, one of them dead, beside one that prefills in the third slot.
    cut.runMixed([{ ids: ids.slice(9, 10), start: 9, from: 1, to: 0 }, null], {
      ids: other.slice(0, 6),
      start: 0,
      from: -1,
      to: 3,
    });
    cut.run([{ ids: ids.slice(10, last), start: 10, from: 0, to: 2 }]);
    const before = cut.states;
    // Written nowhere: what was there can be read again.
    const at = { ids: ids.slice(last), start: last, from: 2 };
    const [read] = cut.run([{ ...at, to: -1 }]);
    expect(cut.states).toEqual(before);
    const [again] = cut.run([{ ...at, to: 5 }]);
    expect(read).toEqual(expected);
    expect(again).toEqual(expected);
    expect(rowOf(cut, 5)).toEqual(rowOf(whole, 0));
    const alone = await open(name, maxModelLen, int8);
    alone.run([{ ids: other.slice(0, 6), start: 0, from: -1, to: 3 }]);
    expect(rowOf(cut, 3)).toEqual(rowOf(alone, 3));
  });
});

function rowOf(run: StateRun, row: number): Float32Array[] {
  return run.states.map((pool) => {
    const width = pool.length / NUM_ROWS;
    return pool.slice(row * width, (row + 1) * width);
  });
}
