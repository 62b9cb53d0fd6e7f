import type { TextRuntime } from '../../runtimes.ts';
import { type Stage, watchGeneration } from './stage.ts';

/**
 * Notes the text of a request that has one, as that of its client's slot: /slots/{id} saves it. Texts with
 * images, texts of speech and those of adapters are left out, since their tokens alone don't say what was computed.
 */
export function noted({ slots, model }: Pick<TextRuntime, 'slots' | 'model'>): Stage {
  if (!slots) return (generation, next) => next(generation);
  return async (generation, next) => {
    const { asked, caller, adapter } = generation;
    const [prompt, another] = asked.prompts;
    const deltas = await next(generation);
    if (prompt === undefined || another !== undefined || asked.numChoices > 1) return deltas;
    if (prompt.images?.length || prompt.speech || prompt.readout !== undefined || adapter !== null)
      return deltas;
    const output: number[] = [];
    return watchGeneration(deltas, generation, {
      onValue({ tokenIds }) {
        output.push(...tokenIds);
      },
      onEnd() {
        // Otherwise it never ran.
        if (output.length === 0) return;
        const { promptTokenIds, slot = 0, cacheSalt = '' } = prompt;
        const all = new Int32Array(promptTokenIds.length + output.length);
        all.set(promptTokenIds);
        all.set(output, promptTokenIds.length);
        // One token is left to be computed after it.
        const tokenIds = all.slice(0, model.maxModelLen - 1);
        slots.texts.put(caller.client, slot, { tokenIds, cacheSalt });
      },
    });
  };
}
