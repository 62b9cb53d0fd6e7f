/** Transformers.js: `generate` over a batch, which runs until its longest member is done. */
import { PRECISIONS } from '../../../../src/model/manifest.ts';
import { PRESETS } from '../../../../src/model/huggingface/presets.ts';
import { portableModel } from '../built-model.ts';
import type { OpenContender, Work } from '../contender.ts';
import { prepareTransformersModel } from '../write-transformers-model.ts';

/** Part of Transformers.js that we use, which is installed only to run this benchmark. */
interface TransformersModule {
  readonly AutoModelForCausalLM: {
    from_pretrained(path: string, options: object): Promise<CausalLM>;
  };
  readonly Tensor: new (type: string, data: BigInt64Array, dims: number[]) => object;
}

interface CausalLM {
  generate(options: object): Promise<unknown>;
  dispose(): Promise<unknown>;
}

const MODULE: string = '@huggingface/transformers';

export const open: OpenContender = async (setup) => {
  const precision = PRECISIONS.find((name) => name === setup.precision);
  if (!precision) throw new Error(`the graph has no precision ${setup.precision}`);
  const built = await portableModel(setup, precision);
  const folder = await prepareTransformersModel(built, PRESETS[setup.preset]);
  const { AutoModelForCausalLM, Tensor }: TransformersModule = await import(MODULE);
  const model = await AutoModelForCausalLM.from_pretrained(folder, {
    local_files_only: true,
    device: 'cpu',
    // The name of the file to load; the weights in it are of the precision that was asked for.
    dtype: 'fp32',
    session_options: { intraOpNumThreads: setup.threads },
  });

  /** Prompts of one length: none needs padding. */
  async function generate(work: readonly Work[], onToken: () => void = () => {}): Promise<void> {
    const ids = work.flatMap(({ promptTokenIds }) => promptTokenIds);
    const dims = [work.length, ids.length / work.length];
    await model.generate({
      inputs: new Tensor('int64', BigInt64Array.from(ids, BigInt), dims),
      attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), dims),
      max_new_tokens: Math.max(...work.map(({ outputTokens }) => outputTokens)),
      do_sample: false,
      streamer: { put: onToken, end() {} },
    });
  }

  return {
    async batch(work) {
      const start = performance.now();
      let calls = 0;
      let prefilled = start;
      await generate(
        work.map((item) => ({ ...item, outputTokens: item.outputTokens + 1 })),
        // The streamer gets the prompt first.
        () => {
          if (++calls === 2) prefilled = performance.now();
        },
      );
      return { prefillMs: prefilled - start, decodeMs: performance.now() - prefilled };
    },
    async serve(work) {
      for (let first = 0; first < work.length; first += setup.sequences) {
        await generate(work.slice(first, first + setup.sequences));
      }
    },
    async close() {
      await model.dispose();
    },
  };
};
