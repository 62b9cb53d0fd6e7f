/** Answers of tensors in pieces: the text is that of JSON.stringify, and no piece is large. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { writeInferResponse } from '../../../src/server/kserve/infer-body.ts';
import type { InferRequest } from '../../../src/server/kserve/infer-request.ts';
import { ELEMENTS_PER_PIECE, numberPieces } from '../../../src/server/kserve/number-data.ts';
import { rawLength, rawPieces, toRaw } from '../../../src/server/kserve/raw-tensor.ts';
import type { NumberType, Tensor } from '../../../src/server/kserve/tensor.ts';
import { textPieces } from '../../../src/server/kserve/text-pieces.ts';

const bytesOf = ({ buffer }: { readonly buffer: ArrayBufferLike }) => new Uint8Array(buffer);
const floats = (length: number, at: (index: number) => number): Tensor => ({
  name: 'y',
  datatype: 'FP32',
  shape: [length],
  data: bytesOf(Float32Array.from({ length }, (_, index) => at(index))),
});
const asking = (parameters: InferRequest['parameters'] = {}, ...raw: string[]): InferRequest => ({
  model: 'm',
  version: '',
  id: '',
  parameters,
  inputs: [],
  outputs: raw.map((name) => ({ name, parameters: { binary_data: true } })),
});
const answerOf = (...outputs: Tensor[]) => ({
  model: 'm',
  version: '1',
  id: 'a"b',
  outputs,
  isFinal: true,
});

describe('numbers', () => {
  const cases: readonly [NumberType, Uint8Array, unknown[]][] = [
    ['FP32', bytesOf(Float32Array.of(0.1, NaN, -Infinity, -0)), [Math.fround(0.1), null, null, 0]],
    ['FP64', bytesOf(Float64Array.of(1e300, 5e-324)), [1e300, 5e-324]],
    ['INT64', bytesOf(BigInt64Array.of(-1n, 2n ** 62n)), [-1, 2 ** 62]],
    ['UINT64', bytesOf(BigUint64Array.of(2n ** 64n - 1n)), [2 ** 64]],
    ['BOOL', Uint8Array.of(0, 1), [false, true]],
    ['INT8', Uint8Array.of(255, 1), [-1, 1]],
    ['UINT8', new Uint8Array(), []],
  ];
  for (const [datatype, data, values] of cases) {
    it(`of ${datatype} are told as JSON.stringify has them`, () => {
      const text = [...numberPieces('y', datatype, data)].join('');
      expect(`[${text}]`).toBe(JSON.stringify(values));
    });
  }

  it('come in pieces of so many elements', () => {
    const length = 3 * ELEMENTS_PER_PIECE + 1;
    const { data } = floats(length, (index) => index / 3);
    const pieces = [...numberPieces('y', 'FP32', data as Uint8Array)];
    expect(pieces.map((piece) => piece.split(',').filter((each) => each !== '').length)).toEqual([
      ELEMENTS_PER_PIECE,
      ELEMENTS_PER_PIECE,
      ELEMENTS_PER_PIECE,
      1,
    ]);
    const values = Array.from({ length }, (_, index) => Math.fround(index / 3));
    expect(`[${pieces.join('')}]`).toBe(JSON.stringify(values));
  });
});

describe('texts', () => {
  it('are told as JSON.stringify has them, characters in halves and other bytes too', () => {
    const texts = ['é"\n', '', '\ufeffa', 'x'.repeat(200_001), `a${'𝄞'.repeat(50_000)}`];
    const broken = Buffer.from([0x61, 0xff, 0xf0, 0x9d, 0x84]);
    const elements = [...texts.map((text) => Buffer.from(text)), broken];
    const pieces = [...textPieces(elements)];
    const expected = elements.map((element) => element.toString('utf8'));
    expect(`[${pieces.join('')}]`).toBe(JSON.stringify(expected));
    expect(pieces.length).toBeGreaterThan(4);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2 ** 18);
  });

  it('in great number come in pieces too', () => {
    const elements = Array.from({ length: 20_000 }, () => new Uint8Array());
    expect([...textPieces(elements)].length).toBeGreaterThan(3);
  });
});

describe('an answer', () => {
  it('is JSON, put together', () => {
    const text: Tensor = { name: 't', datatype: 'BYTES', shape: [1], data: [Buffer.from('é')] };
    const { json, raw } = writeInferResponse(
      answerOf(
        floats(2, (index) => index),
        text,
      ),
      asking(),
    );
    expect(raw).toEqual([]);
    expect([...json].join('')).toBe(
      JSON.stringify({
        id: 'a"b',
        model_name: 'm',
        model_version: '1',
        outputs: [
          { name: 'y', datatype: 'FP32', shape: [2], data: [0, 1] },
          { name: 't', datatype: 'BYTES', shape: [1], data: ['é'] },
        ],
      }),
    );
  });

  it('of many elements comes in small pieces, few of which are tiny', () => {
    const length = 100_000;
    const { json, numElements } = writeInferResponse(
      answerOf(floats(length, (index) => index / 7)),
      asking(),
    );
    expect(numElements).toBe(length);
    const sizes = [...json].map((piece) => piece.length);
    expect(Math.max(...sizes)).toBeLessThan(25 * ELEMENTS_PER_PIECE);
    expect(sizes.length).toBeLessThan(length / ELEMENTS_PER_PIECE + 3);
  });

  it('of more elements than JSON may have is refused, with what to ask for', () => {
    const many = floats(LIMITS.tensorJsonElements + 1, () => 0);
    expect(() => writeInferResponse(answerOf(many), asking())).toThrow(
      'The outputs have 1048577 elements; as JSON, 1048576 are the most. Please ask for `binary_data`.',
    );
    expect(writeInferResponse(answerOf(many), asking({}, 'y')).raw).toEqual([many]);
    expect(writeInferResponse(answerOf(many), asking({ binary_data_output: true })).raw).toEqual([
      many,
    ]);
  });

  it('of a type without a form in JSON is refused before any of it is written', () => {
    const half: Tensor = { name: 'h', datatype: 'FP16', shape: [1], data: new Uint8Array(2) };
    expect(() => writeInferResponse(answerOf(half), asking())).toThrow(/raw bytes only/);
  });
});

describe('raw bytes', () => {
  it('are the same in pieces', () => {
    const tensors: Tensor[] = [
      floats(1_000_000, (index) => index),
      {
        name: 't',
        datatype: 'BYTES',
        shape: [20_001],
        data: Array.from({ length: 20_001 }, (_, index) => Buffer.from(`${index}`)),
      },
      {
        name: 'l',
        datatype: 'BYTES',
        shape: [2],
        data: [Buffer.alloc(5 * 2 ** 20, 1), Buffer.of(2)],
      },
    ];
    for (const tensor of tensors) {
      const pieces = [...rawPieces(tensor)];
      expect(pieces.length).toBeGreaterThan(2);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(2 ** 20);
      const whole = Buffer.concat(pieces);
      expect(whole.length).toBe(rawLength(tensor));
      expect(whole.equals(toRaw(tensor))).toBe(true);
    }
  });
});
