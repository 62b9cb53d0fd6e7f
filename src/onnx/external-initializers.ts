import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseModel } from './parsed-model.ts';
import { isExternal } from './protos.ts';

/** A constant tensor of a graph whose bytes lie in a file of their own. */
export interface ExternalInitializer {
  readonly name: string;
  /** ONNX's number for the element type. */
  readonly dataType: number;
  readonly dims: readonly number[];
  /** Absolute path of the file, and where the bytes begin in it. */
  readonly path: string;
  readonly byteOffset: number;
}

/**
 * The initializers that a graph file keeps elsewhere.
 * @param folder of the files that it keeps them in
 * @throws Error when the file can't be read or holds no graph
 */
export function readExternalInitializers(graphPath: string, folder: string): ExternalInitializer[] {
  const { graph } = parseModel(readFileSync(graphPath));
  return graph.initializer.filter(isExternal).map(({ name, dataType, dims, externalData }) => {
    const entries = new Map(externalData.map(({ key, value }) => [key, value]));
    return {
      name,
      dataType,
      dims: dims.map(Number),
      path: join(folder, entries.get('location') ?? ''),
      byteOffset: Number(entries.get('offset') ?? 0),
    };
  });
}
