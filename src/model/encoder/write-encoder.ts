import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { EncoderPrecision } from './encoder-nodes.ts';
import type { ChannelReaches } from './smoothing.ts';

/** With outputs to calibrate by; it does not stay. */
const SHOWING_FILE = 'showing.onnx';

/** How a graph is built of weights, for what `Shape` says of it. */
export interface EncoderBuildOptions<Shape> {
  readonly precision: EncoderPrecision;
  /** Where built models are kept, see defaultCacheDirectory. */
  readonly cacheDirectory: string;
  /**
   * For int8: finds out how large the channels of a model's normalizations get.
   * @param graphPath of a graph that shows them, see EncoderVariant
   */
  readonly calibrate: (graphPath: string, shape: Shape) => ChannelReaches;
}

/** Properties of an encoder's graph that differ between what is calibrated and what is kept. */
export interface EncoderVariant {
  readonly precision: EncoderPrecision;
  readonly reaches?: ChannelReaches;
  /** Whether the outputs of normalizations are outputs of the graph, too. */
  readonly showsNorms?: boolean;
}

/**
 * Writes an encoder's graph; for int8 after it has run in float32.
 * @param calibrate finds out how large the channels of normalizations get, by a graph that shows them
 */
export async function writeEncoder(
  folder: string,
  name: string,
  precision: EncoderPrecision,
  build: (variant: EncoderVariant) => Promise<GraphBuilder>,
  calibrate: (graphPath: string) => ChannelReaches,
): Promise<void> {
  const write = async (file: string, variant: EncoderVariant) => {
    await (await build(variant)).write(join(folder, file));
  };
  if (precision === 'fp32') return write(name, { precision });
  await write(SHOWING_FILE, { precision: 'fp32', showsNorms: true });
  const reaches = calibrate(join(folder, SHOWING_FILE));
  for (const end of ['', '.data']) await rm(join(folder, `${SHOWING_FILE}${end}`));
  await write(name, { precision, reaches });
}
