/**
 * ik_llama.cpp through its llama-batched-bench: a process for every turn, all sequences in each batch,
 * no sampling. The prompts are its own, one token over and over, of the length that is asked for.
 */
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { lastBatchTimes } from '../batched-bench-table.ts';
import type { OpenContender } from '../contender.ts';
import { GGUF_TYPES } from '../gguf-quantization.ts';
import { prepareGguf } from '../write-gguf.ts';

const run = promisify(execFile);

/** @param binary path of llama-batched-bench */
export function openWith(binary: string): OpenContender {
  return async ({ preset, seed, precision, sequences, threads }) => {
    const type = GGUF_TYPES.find((name) => name === precision);
    if (!type) throw new Error(`no GGUF type ${precision}: ${GGUF_TYPES.join(', ')}`);
    const model = await prepareGguf(preset, seed, type);
    return {
      async batch(work) {
        const [first] = work;
        if (!first) throw new RangeError('there is nothing to do');
        const { promptTokenIds, outputTokens } = first;
        const options = {
          '-m': model,
          // Its timed prefill clears the whole cache: no larger than needed.
          '-c': sequences * (promptTokenIds.length + outputTokens),
          '-npp': promptTokenIds.length,
          '-ntg': outputTokens,
          // Twice, the first time to warm up.
          '-npl': `${sequences},${sequences}`,
          '-t': threads,
          '-tb': threads,
        };
        const args = Object.entries(options).flatMap(([flag, value]) => [flag, String(value)]);
        // It may write a log into its working directory.
        const { stdout, stderr } = await run(binary, ['-rtr', ...args], { cwd: tmpdir() });
        return lastBatchTimes(stdout + stderr);
      },
      serve: null,
      async close() {},
    };
  };
}
