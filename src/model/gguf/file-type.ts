import type { GgufFile } from './gguf-file.ts';
import type { GgufMetadata } from './metadata.ts';

/** llama.cpp's numbers of how a file as a whole is quantized (`general.file_type`). */
const NAMES: ReadonlyMap<number, string> = new Map([
  [0, 'F32'],
  [1, 'F16'],
  [2, 'Q4_0'],
  [3, 'Q4_1'],
  [7, 'Q8_0'],
  [8, 'Q5_0'],
  [9, 'Q5_1'],
  [10, 'Q2_K'],
  [11, 'Q3_K_S'],
  [12, 'Q3_K_M'],
  [13, 'Q3_K_L'],
  [14, 'Q4_K_S'],
  [15, 'Q4_K_M'],
  [16, 'Q5_K_S'],
  [17, 'Q5_K_M'],
  [18, 'Q6_K'],
  [19, 'IQ2_XXS'],
  [20, 'IQ2_XS'],
  [21, 'Q2_K_S'],
  [22, 'IQ3_XS'],
  [23, 'IQ3_XXS'],
  [24, 'IQ1_S'],
  [25, 'IQ4_NL'],
  [26, 'IQ3_S'],
  [27, 'IQ3_M'],
  [28, 'IQ2_S'],
  [29, 'IQ2_M'],
  [30, 'IQ4_XS'],
  [31, 'IQ1_M'],
  [32, 'BF16'],
  [36, 'TQ1_0'],
  [37, 'TQ2_0'],
  [38, 'MXFP4_MOE'],
  [40, 'Q1_0'],
  [41, 'Q2_0'],
]);

/** Added to a number that was guessed. */
const GUESSED = 1024;

/** How a file says that it is quantized, such as `Q4_K_M`; null where it does not. */
export function statedFileType(metadata: GgufMetadata): string | null {
  const stated = metadata.number('general.file_type');
  return (stated === undefined ? undefined : NAMES.get(stated % GUESSED)) ?? null;
}

/**
 * Quantization of a file, such as `Q4_K_M`; if the file does not state it, the type that most of its
 * weights have.
 */
export function ggufFileType(file: GgufFile): string {
  return statedFileType(file.metadata) ?? usualType(file);
}

function usualType(file: GgufFile): string {
  const counts = new Map<string, number>();
  for (const { type, shape } of file.tensors()) {
    const count = shape.reduce((product, size) => product * size, 1);
    counts.set(type.name, (counts.get(type.name) ?? 0) + count);
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  return most?.[0] ?? '';
}
