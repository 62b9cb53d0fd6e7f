/** LLaVA-NeXT and LLaVA-OneVision, whose images are lines of tokens across tiles: texts are those of Transformers. */
import { afterAll, describe, it } from 'vitest';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { ANYRES_MODELS, visionFolder } from '../../support/vision.ts';
import { expectTextsAfterCrashes, visionRequests } from '../../support/vision-requests.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const IMAGE_TOKEN = 3;
const MARK = '<image>';

describe.each(ANYRES_MODELS)('%s', (name) => {
  it(
    'says what Transformers says, in any batch and any chunks, after a crash',
    needs(LINUX),
    async () => {
      const source = { kind: 'folder', path: visionFolder(name) } as const;
      const options = { cacheDirectory: cache.path, takesEmbeddings: true, maxModelLen: 128 };
      const model = await prepareModel(source, { ...options, precision: 'fp32' });
      const requests = await visionRequests(name, IMAGE_TOKEN, ({ placeholder }) => ({
        numTokens: placeholder.length / MARK.length,
      }));
      expectTextsAfterCrashes(model, requests);
    },
  );
});
