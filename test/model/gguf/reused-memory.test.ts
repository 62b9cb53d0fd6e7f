/** Threads make matrices in memory that others were made in: what is left there must not be in them. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { orLong } from '../../support/long-runs.ts';
import { writeRandomGguf } from '../../support/random-gguf.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Layers of more than the 128 MiB that are made ahead, so that memory is used again. */
const MANY_LAYERS = 240;

test.each(orLong([12], [12, MANY_LAYERS]))(
  'two threads make of a Q4_K_M file of %i layers what one makes',
  async (numLayers) => {
    const path = join(await temporaryDirectory(), 'Q4_K_M.gguf');
    // Some matrices have more bits in later layers, which so take memory that others were made in.
    const isFine = (matrix: string, layer: number) =>
      layer >= numLayers / 2 && /attn_v|ffn_down/.test(matrix);
    await writeRandomGguf(path, {
      typeOf: (matrix, layer) => (isFine(matrix, layer) ? 'Q6_K' : 'Q4_K'),
      numLayers,
      mlpWidth: 1024,
    });
    const weights = async (threads: number) => {
      const { graphPath } = await prepareModel(
        { kind: 'folder', path },
        {
          precision: 'int4',
          nativeKernels: { kvCacheDtype: 'float16' },
          cacheDirectory: await temporaryDirectory(),
          threads: () => threads,
        },
      );
      return readFile(`${graphPath}.data`);
    };
    // Comparing them by elements takes seconds.
    expect((await weights(2)).equals(await weights(1))).toBe(true);
  },
  120_000,
);
