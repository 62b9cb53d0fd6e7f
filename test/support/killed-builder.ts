import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';

// Builds the tiny model into the cache directory given as argument, and dies of SIGKILL half way.
const [, , cacheDirectory = ''] = process.argv;
await prepareModel(
  { kind: 'random', config: PRESETS.tiny, seed: 1 },
  {
    precision: 'fp32',
    cacheDirectory,
    onProgress: (done, total) => {
      if (done > total / 2) {
        process.kill(process.pid, 'SIGKILL');
      }
    },
  },
);
