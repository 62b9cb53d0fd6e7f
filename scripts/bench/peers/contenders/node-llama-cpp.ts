/** llama.cpp in this process, through node-llama-cpp's prebuilt binary; its sequences run in parallel. */
import type { OpenContender, Work } from '../contender.ts';
import { GGUF_TYPES } from '../gguf-quantization.ts';
import { prepareGguf } from '../write-gguf.ts';

/** Part of node-llama-cpp that we use, which is installed only to run this benchmark. */
interface LlamaModule {
  getLlama(
    this: void,
    options: object,
  ): Promise<{
    loadModel(options: object): Promise<{
      createContext(options: object): Promise<{ getSequence(): LlamaSequence }>;
    }>;
    dispose(): Promise<void>;
  }>;
}

interface LlamaSequence {
  clearHistory(): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>;
  evaluate(tokens: readonly number[], options: object): AsyncIterable<number>;
}

const MODULE: string = 'node-llama-cpp';

/** Greedy; on past the end-of-sequence token, as the others do. */
const SAMPLING = { temperature: 0, yieldEogToken: true };

export const open: OpenContender = async ({
  preset,
  seed,
  gguf,
  precision,
  sequences,
  capacity,
  threads,
}) => {
  const type = GGUF_TYPES.find((name) => name === precision);
  if (!type) throw new Error(`no GGUF type ${precision}: ${GGUF_TYPES.join(', ')}`);
  const modelPath = gguf ?? (await prepareGguf(preset, seed, type));
  const { getLlama }: LlamaModule = await import(MODULE);
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    logLevel: 'error',
    maxThreads: threads,
  });
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ sequences, contextSize: capacity, threads });
  const rows = Array.from({ length: sequences }, () => context.getSequence());

  async function generate(row: LlamaSequence, from: number, outputTokens: number): Promise<void> {
    let left = outputTokens;
    for await (const _ of row.evaluate([from], SAMPLING)) if (--left === 0) return;
  }

  async function prefill(row: LlamaSequence, { promptTokenIds }: Work): Promise<number> {
    await row.evaluateWithoutGeneratingNewTokens(promptTokenIds.slice(0, -1));
    return promptTokenIds.at(-1) ?? 0;
  }

  return {
    async batch(work) {
      for (const row of rows) await row.clearHistory();
      const start = performance.now();
      const lastTokens = await Promise.all(
        rows.map((row, index) =>
          prefill(row, work[index] ?? { promptTokenIds: [], outputTokens: 0 }),
        ),
      );
      const prefilled = performance.now();
      await Promise.all(
        rows.map((row, index) =>
          generate(row, lastTokens[index] ?? 0, work[index]?.outputTokens ?? 0),
        ),
      );
      return { prefillMs: prefilled - start, decodeMs: performance.now() - prefilled };
    },
    async serve(work) {
      const queue = [...work];
      await Promise.all(
        rows.map(async (row) => {
          for (let item = queue.shift(); item; item = queue.shift()) {
            await row.clearHistory();
            await generate(row, await prefill(row, item), item.outputTokens);
          }
        }),
      );
    },
    close: () => llama.dispose(),
  };
};
