import { describe, expect, it } from 'vitest';
import {
  checkInputs,
  checkOutputs,
  findBatchDimension,
  type GraphSignature,
  type TensorSpec,
} from '../../src/encoder/tensors/signature.ts';
import type { NumberValue, TensorValue } from '../../src/encoder/tensors/tensor.ts';

function spec(name: string, shape: TensorSpec['shape']): TensorSpec {
  return { name, datatype: 'FP32', shape };
}

function floats(name: string, shape: readonly number[]): NumberValue {
  const length = shape.reduce((product, size) => product * Math.max(0, Math.trunc(size)), 1);
  return { name, datatype: 'FP32', shape, data: new Float32Array(length) };
}

const SIGNATURE: GraphSignature = {
  inputs: [spec('x', ['batch', 3]), spec('y', ['batch', 'length'])],
  outputs: [spec('sum', ['batch', 3]), spec('mean', ['batch'])],
  isBatched: true,
};
const [x, y] = [floats('x', [2, 3]), floats('y', [2, 5])];

describe('the batch dimension', () => {
  it('is the first one that all inputs share and that is free in all outputs', () => {
    expect(findBatchDimension(SIGNATURE.inputs, SIGNATURE.outputs)).toBe(true);
    expect(findBatchDimension([spec('x', ['', 3])], [spec('y', ['rows'])])).toBe(true);
  });

  it.each([
    ['a fixed input', [spec('x', [1, 3])], [spec('y', ['batch'])]],
    ['a fixed output', [spec('x', ['batch', 3])], [spec('y', [1])]],
    ['a scalar', [spec('x', ['batch']), spec('n', [])], [spec('y', ['batch'])]],
    ['two names', [spec('x', ['batch']), spec('y', ['tokens'])], [spec('z', ['batch'])]],
    ['no inputs', [], [spec('y', ['batch'])]],
  ])('is not there with %s', (_what, inputs, outputs) => {
    expect(findBatchDimension(inputs, outputs)).toBe(false);
  });
});

describe('inputs', () => {
  it('have rows, and a shape by which they can be batched', () => {
    expect(checkInputs(SIGNATURE, [y, x], 8)).toEqual({
      rows: 2,
      bytes: 64,
      shape: '3 5',
      sizes: new Map([
        ['batch', 2],
        ['length', 5],
      ]),
    });
    expect(checkInputs({ ...SIGNATURE, isBatched: false }, [x, y], 1)).toMatchObject({
      rows: 1,
      bytes: 64,
      shape: '2,3 2,5',
    });
  });

  it.each<[string, TensorValue[]]>([
    ['the input "y" is missing', [x]],
    ['an input is given twice', [x, x, y]],
    ['the model has no input "z"; it has x, y', [x, y, floats('z', [1])]],
    ['the input "x" has shape [2, 4]; the model takes [-1, 3]', [floats('x', [2, 4]), y]],
    ['the input "x" has shape [6]; the model takes [-1, 3]', [floats('x', [6]), y]],
    [
      'the input "x" is INT32; the model takes FP32',
      [{ ...x, datatype: 'INT32', data: new Int32Array(6) }, y],
    ],
    ['the input "x" has 16 bytes; [2, 3] takes 24', [{ ...x, data: new Float32Array(4) }, y]],
    ['the input "y" has a dimension that is not a whole number from 1', [x, floats('y', [2, 0])]],
    ['the input "x" has a dimension that is not a whole number from 1', [floats('x', [0.5, 3]), y]],
    ['the dimension "batch" is 2 in the input "x" and 1 in "y"', [x, floats('y', [1, 5])]],
    ['the input "x" is BYTES; the model takes FP32', [{ ...x, datatype: 'BYTES', data: [] }, y]],
    ['the request has 9 rows; a batch has 8 at most', [floats('x', [9, 3]), floats('y', [9, 5])]],
  ])('are refused: %s', (message, tensors) => {
    expect(() => checkInputs(SIGNATURE, tensors, 8)).toThrow(message);
  });

  it('are refused where unnamed batch dimensions differ', () => {
    const signature = { ...SIGNATURE, inputs: [spec('x', ['', 3]), spec('y', ['', 'length'])] };
    expect(() => checkInputs(signature, [x, floats('y', [1, 5])], 8)).toThrow(
      'the input "y" has 1 rows, and another one 2',
    );
  });
});

it('outputs are those that are wanted, all if none is named', () => {
  expect(checkOutputs(SIGNATURE, null)).toEqual(['sum', 'mean']);
  expect(checkOutputs(SIGNATURE, ['mean'])).toEqual(['mean']);
  expect(() => checkOutputs(SIGNATURE, ['max'])).toThrow(
    'the model has no output "max"; it has sum, mean',
  );
});
