import { z } from 'zod';

import { ModelError } from '../model-error.ts';
import type { IntegerFormat, ValueFormat } from './matrix-format.ts';
import type { TensorReader } from './tensor-reader.ts';

const count = z.int().positive();
const stateSchema = z.object({
  blocksize: count,
  shape: z.array(count),
  nested_blocksize: count.optional(),
  nested_offset: z.number().optional(),
});
type QuantState = z.infer<typeof stateSchema>;

/** Names of the tensor that says how a matrix is stored, which have the type of its levels. */
const STATES = ['nf4', 'fp4'].map((type) => `weight.quant_state.bitsandbytes__${type}`);

/** Values that share a scale in one that is itself in 8 bits. */
const LEVELS = 256;

/**
 * 4-bit format of bitsandbytes: `weight` has places in `weight.quant_map`, two to a byte, the first one
 * high, times `weight.absmax`: float32, or with double quantization places in `weight.nested_quant_map`
 * times `weight.nested_absmax`, plus an offset.
 */
export function fourBitFormat(): ValueFormat {
  return {
    kind: 'values',
    holds: (tensors, base) => stateName(tensors, base) !== undefined,
    async values(tensors, base, [rows, columns]) {
      const state = await readState(tensors, base);
      const numValues = rows * columns;
      if (state.shape.join() !== [rows, columns].join()) {
        throw new ModelError(
          `tensor "${base}.weight" has shape [${state.shape.join(', ')}], ` +
            `expected [${rows}, ${columns}]`,
        );
      }
      const packed = await tensors.bytes(`${base}.weight`, ['U8']);
      const levels = await tensors.floats(`${base}.weight.quant_map`);
      const blocks = Math.ceil(numValues / state.blocksize);
      const scales = await readScales(tensors, base, state, blocks);
      if (packed.length !== Math.ceil(numValues / 2) || levels.length !== 16) {
        throw new ModelError(`tensor "${base}.weight" is not of ${numValues} 4-bit values`);
      }
      const values = new Float32Array(numValues);
      for (let i = 0; i < numValues; i++) {
        const byte = packed[i >> 1] ?? 0;
        const level = levels[i & 1 ? byte & 15 : byte >> 4] ?? 0;
        values[i] = level * (scales[Math.floor(i / state.blocksize)] ?? 0);
      }
      return values;
    },
  };
}

/** 8-bit format of bitsandbytes: `weight` of int8, times `SCB` / 127 of its row. */
export function eightBitFormat(): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => tensors.shape(`${base}.SCB`) !== null,
    layout: (_tensors, _base, [, columns]) => ({
      bits: 8,
      blockSize: columns,
      hasZeroPoints: false,
      order: null,
    }),
    async integers(tensors, base, shape) {
      const bytes = await tensors.bytes(`${base}.weight`, ['I8'], shape);
      const largest = await tensors.floats(`${base}.SCB`);
      return {
        values: bytes.map((byte) => byte ^ 0x80),
        scales: largest.map((value) => value / 127),
        zeroPoints: null,
      };
    },
  };
}

function stateName(tensors: TensorReader, base: string): string | undefined {
  return STATES.map((name) => `${base}.${name}`).find((name) => tensors.shape(name) !== null);
}

async function readState(tensors: TensorReader, base: string): Promise<QuantState> {
  const name = stateName(tensors, base) ?? '';
  const text = new TextDecoder().decode(await tensors.bytes(name, ['U8']));
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new ModelError(`tensor "${name}" is not a state of bitsandbytes`, { cause: error });
  }
}

async function readScales(
  tensors: TensorReader,
  base: string,
  { nested_blocksize: nestedSize, nested_offset: offset }: QuantState,
  blocks: number,
): Promise<Float32Array> {
  const name = `${base}.weight.absmax`;
  if (nestedSize === undefined) {
    const scales = await tensors.floats(name);
    if (scales.length !== blocks)
      throw new ModelError(`tensor "${name}" is not of ${blocks} values`);
    return scales;
  }
  const places = await tensors.bytes(name, ['U8'], [blocks]);
  const levels = await tensors.floats(`${base}.weight.nested_quant_map`);
  const largest = await tensors.floats(`${base}.weight.nested_absmax`);
  if (levels.length !== LEVELS || largest.length !== Math.ceil(blocks / nestedSize)) {
    throw new ModelError(`tensor "${name}" has not the levels and scales for ${blocks} values`);
  }
  const scales = new Float32Array(blocks);
  for (let i = 0; i < blocks; i++) {
    const scale = (levels[places[i] ?? 0] ?? 0) * (largest[Math.floor(i / nestedSize)] ?? 0);
    scales[i] = Math.fround(scale) + (offset ?? 0);
  }
  return scales;
}
