import type { ParsedModel } from '../../onnx/parsed-model.ts';
import { nodeProto } from '../../onnx/protos.ts';

/** Input that says whether there is a cache: true takes the `then` branch. */
const USES_CACHE = 'use_cache_branch';

/**
 * The graph with a cache of an export that has another one for prompts beside it, as older releases of Optimum
 * merged them: its branch in place of the choice.
 * @returns null for other exports
 */
export function cachedBranch({ model, graph: merged }: ParsedModel): ParsedModel | null {
  const isChoice = (node: (typeof merged.node)[number]) =>
    node.opType === 'If' && node.input[0] === USES_CACHE;
  const choice = merged.node.find(isChoice);
  const branch = choice?.attribute.find(({ name }) => name === 'then_branch')?.g;
  if (choice === undefined || branch === undefined) return null;
  const outputs = branch.output.flatMap(({ name }, index) => {
    const outer = choice.output[index] ?? '';
    return name === outer ? [] : [nodeProto(outer, 'Identity', [name])];
  });
  // Weights are not copied.
  const graph = {
    ...merged,
    node: merged.node.flatMap((node) => (isChoice(node) ? [...branch.node, ...outputs] : [node])),
    initializer: [...merged.initializer, ...branch.initializer],
    input: merged.input.filter(({ name }) => name !== USES_CACHE),
  };
  return { model, graph };
}
