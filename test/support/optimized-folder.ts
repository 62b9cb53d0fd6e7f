/** Models that steps have made, as they are on the disk and as they are served. */
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { OneText } from './one-text.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A text to compute, of a vocabulary of 64 tokens or more. */
export const IDS = [3, 14, 59, 26, 53, 58, 9];

export async function openFolder(path: string) {
  const folder = await inspectModelFolder(path);
  if (folder.kind !== 'huggingface') throw new Error(`${path} has no weights`);
  return { ...folder, weights: await folder.open() };
}

/** After the last of `IDS`. */
export async function servedLogits(
  path: string,
  precision: 'fp32' | 'int8' = 'fp32',
): Promise<number[]> {
  const options = {
    precision,
    cacheDirectory: await temporaryDirectory(),
    ...(precision === 'int8' && { nativeKernels: { kvCacheDtype: 'float32' as const } }),
  };
  const text = new OneText(await prepareModel({ kind: 'folder', path }, options), 16);
  const logits = Array.from(text.extend(IDS));
  text.release();
  if (logits.length === 0) throw new Error(`${path} gave no logits`);
  return logits;
}

/** The largest difference, as a share of the largest value. */
export function deviation(actual: readonly number[], expected: readonly number[]): number {
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs(value - (actual[i] ?? NaN)))) / largest;
}
