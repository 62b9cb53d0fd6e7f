import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TensorValue } from '../../../src/encoder/tensors/tensor.ts';
import type { Caller, CacheOutcome, CacheWish } from '../../../src/front/caller.ts';
import { ANY_ANSWER } from '../../../src/front/caller.ts';
import { NotCachedError } from '../../../src/front/not-cached-error.ts';
import { TensorCache } from '../../../src/front/response-cache/tensor-cache.ts';
import { decodeTensors, encodeTensors } from '../../../src/front/response-cache/tensor-codec.ts';
import { TwoLevelCache } from '../../../src/front/response-cache/two-level-cache.ts';
import type { TensorModel } from '../../../src/front/tensors/tensor-model.ts';
import { LIMITS } from '../../../src/limits.ts';

const signal = new AbortController().signal;

function floats(name: string, ...values: number[]): TensorValue {
  return { name, datatype: 'FP32', shape: [values.length], data: Float32Array.from(values) };
}

function texts(name: string, ...values: string[]): TensorValue {
  const data = values.map((value) => new Uint8Array(Buffer.from(value)));
  return { name, datatype: 'BYTES', shape: [values.length], data };
}

/** Adds a number to its input that no answer has twice. */
function setUp(maxEntryBytes = 2 ** 20) {
  const computed: string[] = [];
  const model = {
    signature: { inputs: [], outputs: [], isBatched: false },
    maxBatchSize: 1,
    stats: {} as TensorModel['stats'],
    async infer(inputs: readonly TensorValue[]) {
      computed.push(inputs.map(({ name }) => name).join());
      return [floats('y', computed.length, 1 / 3), texts('z', 'a', '', 'é')];
    },
  };
  const store = new TwoLevelCache({ maxBytes: 2 ** 22, maxEntryBytes, ttlMs: 60_000 });
  const cache = new TensorCache(store);
  return { cache, computed, model, served: cache.over(model, 'build') };
}

function callerOf(client = 'a', wish: Partial<CacheWish> = {}): Caller {
  return { client, signal, cache: { ...ANY_ANSWER, ...wish } };
}

test('equal inputs have the same outputs, in whatever order they are named', async () => {
  const { cache, computed, served } = setUp();
  const outcomes: CacheOutcome[] = [];
  const caller = callerOf('a', { tell: (outcome) => outcomes.push(outcome) });
  const first = await served.infer([floats('a', 1), texts('b', 'x')], {}, caller);
  const second = await served.infer([texts('b', 'x'), floats('a', 1)], { priority: 2 }, caller);
  expect(second).toEqual(first);
  expect(computed).toHaveLength(1);
  expect(outcomes).toMatchObject([{ status: 'miss' }, { status: 'hit' }]);
  expect(cache.counts).toMatchObject({ misses: 1, hits: { memory: 1 } });
});

test('what differs in anything is computed', async () => {
  const { computed, served, cache, model } = setUp();
  await served.infer([floats('a', 1, 2)], {}, callerOf());
  await served.infer([floats('a', 1, 3)], {}, callerOf());
  await served.infer([floats('b', 1, 2)], {}, callerOf());
  await served.infer([{ ...floats('a', 1, 2), shape: [2, 1] }], {}, callerOf());
  await served.infer([floats('a', 1, 2)], { outputs: ['y'] }, callerOf());
  await served.infer([floats('a', 1, 2)], {}, callerOf('b'));
  await cache.over(model, 'another build').infer([floats('a', 1, 2)], {}, callerOf());
  await served.infer([texts('a', 'xy', 'z')], {}, callerOf());
  await served.infer([texts('a', 'x', 'yz')], {}, callerOf());
  expect(computed).toHaveLength(9);
});

test('does as Cache-Control says', async () => {
  const { computed, served } = setUp();
  const ask = (wish: Partial<CacheWish>) => served.infer([floats('a', 1)], {}, callerOf('a', wish));
  await expect(ask({ onlyFound: true })).rejects.toThrow(NotCachedError);
  await ask({ mayKeep: false });
  await ask({});
  await ask({ mayFind: false });
  expect(computed).toHaveLength(3);
  await ask({ onlyFound: true });
  expect(computed).toHaveLength(3);
});

test('inputs that take long to hash, and outputs that are too long, are not kept', async () => {
  const large = setUp();
  const data = new Uint8Array(LIMITS.cachedInputBytes + 1);
  const input: TensorValue = { name: 'a', datatype: 'UINT8', shape: [data.length], data };
  await large.served.infer([input], {}, callerOf());
  await large.served.infer([input], {}, callerOf());
  expect(large.computed).toHaveLength(2);
  expect(large.cache.counts).toMatchObject({ bypasses: 2, misses: 0 });
  const long = setUp(8);
  await long.served.infer([floats('a', 1)], {}, callerOf());
  await long.served.infer([floats('a', 1)], {}, callerOf());
  expect(long.computed).toHaveLength(2);
});

test('tensors of all types come back from their bytes', () => {
  const shape = fc.array(fc.nat(1000), { maxLength: 4 });
  const name = fc.string();
  const tensor = fc.oneof(
    fc.record({ name, shape, datatype: fc.constant('FP32' as const), data: fc.float32Array() }),
    fc.record({ name, shape, datatype: fc.constant('INT64' as const), data: fc.bigInt64Array() }),
    fc.record({ name, shape, datatype: fc.constant('BOOL' as const), data: fc.uint8Array() }),
    fc.record({ name, shape, datatype: fc.constant('FP16' as const), data: fc.uint16Array() }),
    fc.record({
      name,
      shape,
      datatype: fc.constant('BYTES' as const),
      data: fc.array(fc.uint8Array()),
    }),
  );
  fc.assert(
    fc.property(fc.array(tensor), (tensors) => {
      expect(decodeTensors(encodeTensors(tensors as TensorValue[]))).toEqual(tensors);
    }),
  );
  expect(() => decodeTensors(Buffer.from([1, 0, 0, 0]))).toThrow(RangeError);
});
