/** InternVL, whose images are several tiles one after the other: texts are those of Transformers. */
import { afterAll, describe, it } from 'vitest';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { CANVAS_MODELS, visionFolder } from '../../support/vision.ts';
import { expectTextsAfterCrashes, visionRequests } from '../../support/vision-requests.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const IMAGE_TOKEN = 5;
const TOKENS_PER_TILE = 4;

describe.each(CANVAS_MODELS)('%s', (name) => {
  it(
    'says what Transformers says, in any batch and any chunks, after a crash',
    needs(LINUX),
    async () => {
      const source = { kind: 'folder', path: visionFolder(name) } as const;
      const options = { cacheDirectory: cache.path, takesEmbeddings: true, maxModelLen: 128 };
      const model = await prepareModel(source, { ...options, precision: 'fp32' });
      const requests = await visionRequests(name, IMAGE_TOKEN, ({ rows, columns }) => ({
        // The last tile is all of the image.
        numTokens: (rows * columns + 1) * TOKENS_PER_TILE,
      }));
      expectTextsAfterCrashes(model, requests);
    },
  );
});
