import { pruneHeads } from './prune-heads.ts';
import { pruneLayers } from './prune-layers.ts';
import { pruneMlp } from './prune-mlp.ts';
import { roundWeights } from './rounding.ts';
import { makeSparse } from './sparsity.ts';
import { type Step, type StepContext, StepError } from './step.ts';

/** @throws {StepError} if a step does not fit the model */
export async function runStep(context: StepContext, step: Step, threads: number): Promise<void> {
  if (context.source.config.quantization !== null) {
    throw new StepError('the weights are rounded already: rounding must be the last step');
  }
  switch (step.step) {
    case 'prune-mlp':
      return pruneMlp(context, step);
    case 'prune-heads':
      return pruneHeads(context, step);
    case 'prune-layers':
      return pruneLayers(context, step);
    case 'sparsity':
      return makeSparse(context, step);
    case 'rounding':
      return roundWeights(context, step, threads);
  }
}
