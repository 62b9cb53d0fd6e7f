import type { DecoderConfig } from '../huggingface/config.ts';
import type { GgufFile, TensorPart } from './gguf-file.ts';

const QUERY_KEY_VALUE = /(?<=\.attn_)(?<part>[qkv])(?=\.(?:weight|bias)$)/;
const GATE_UP = /(?<=\.ffn_)(?<part>gate|up)(?=_exps\.weight$)/;

/** A tensor that has others as parts, by rows. */
interface FusedTensor {
  readonly shape: readonly number[];
  readonly part: TensorPart;
}

/** Name of the tensor that has another as a part, if a file has that instead; otherwise null. */
export function fusedName(file: GgufFile, stored: string): string | null {
  if (file.tensor(stored) !== undefined) return null;
  const fused = stored.replace(QUERY_KEY_VALUE, 'qkv').replace(GATE_UP, 'gate_up');
  return fused !== stored && file.tensor(fused) !== undefined ? fused : null;
}

/** Name of an expert's matrix, if a file has each by itself, as those of 2023; otherwise null. */
export function loneName(file: GgufFile, stored: string, expert: number | null): string | null {
  if (expert === null || file.tensor(stored) !== undefined) return null;
  const lone = stored.replace('_exps.', `.${expert}.`);
  return file.tensor(lone) === undefined ? null : lone;
}

/**
 * Where a part is: rows of queries come first, then those of keys and values; of each expert those of gates.
 * @param stored name of the part
 * @param shape of the part, or of one expert's
 * @param expert null if it is not of an expert
 */
export function fusedTensor(
  stored: string,
  shape: readonly number[],
  expert: number | null,
  { numHeads, numKvHeads, headDim, family, experts }: DecoderConfig,
): FusedTensor {
  const [rows = 0, ...others] = shape;
  const width = others.reduce((product, size) => product * size, 1);
  const at = (row: number) => ({ first: row * width, shape });
  const gates = GATE_UP.exec(stored)?.groups;
  if (gates !== undefined) {
    const before = gates['part'] === 'up' ? rows : 0;
    return {
      shape: [experts?.count ?? 0, 2 * rows, ...others],
      part: at((expert ?? 0) * 2 * rows + before),
    };
  }
  const queries = numHeads * headDim * (family.gatesAttention ? 2 : 1);
  const keys = numKvHeads * headDim;
  const firsts = { q: 0, k: queries, v: queries + keys };
  const kind = (QUERY_KEY_VALUE.exec(stored)?.groups?.['part'] ?? 'q') as keyof typeof firsts;
  return { shape: [queries + 2 * keys, ...others], part: at(firsts[kind]) };
}
