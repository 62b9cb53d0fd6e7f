import type { Family } from '../families/family.ts';
import type { GatedDeltaNames, SelectiveScanNames } from '../families/recurrence.ts';
import type { GatedDelta, RecurrentConfig } from '../huggingface/recurrent-config.ts';
import type { AddPlace } from './tensor-place.ts';

type NameOf = (name: string) => string;

/** Adds the places of a layer's tensors that has a state. @param full of names relative to the layer */
export function addRecurrence(
  config: RecurrentConfig,
  { recurrence: rules }: Family,
  full: NameOf,
  block: NameOf,
  add: AddPlace,
): void {
  if (rules?.kind === 'short convolution') {
    const { input, convolution, output } = rules.tensors;
    add(full(input), block('shortconv.in_proj'), 'matrix');
    add(full(convolution), block('shortconv.conv'), 'matrix');
    add(full(output), block('shortconv.out_proj'), 'matrix');
  } else if (rules?.kind === 'gated delta' && config.kind === 'gated delta') {
    addGatedDelta(config, rules.tensors, full, block, add);
  } else if (rules?.kind === 'selective scan') {
    addSelectiveScan(rules.tensors, full, block, add);
  }
}

function addGatedDelta(
  { keyHeads, keyDim, valueDim }: GatedDelta,
  names: GatedDeltaNames,
  full: NameOf,
  block: NameOf,
  add: AddPlace,
): void {
  const [packed, outputGates] = names.input.map(full);
  const [learned, forgotten] = names.gates.map(full);
  const [convolution] = names.convolution.map(full);
  const convolved = { values: { first: 2 * keyHeads * keyDim, size: valueDim } };
  const ofHeads = { first: 0, size: 1 };
  // Where gates of outputs are in the same matrix, its rows are by head of keys.
  add(packed, block(outputGates === undefined ? 'ssm_in' : 'attn_qkv'), 'matrix', convolved);
  add(outputGates, block('attn_gate'), 'matrix', { values: { first: 0, size: valueDim } });
  // Where both are one matrix, they are by head of keys.
  add(learned, block(forgotten === undefined ? 'ssm_ba' : 'ssm_beta'), 'matrix', {
    values: ofHeads,
  });
  add(forgotten, block('ssm_alpha'), 'matrix', { values: ofHeads });
  add(convolution, block('ssm_conv1d'), 'matrix', convolved);
  add(full(names.decay), block('ssm_a'), 'decay', { suffix: '', values: ofHeads });
  add(full(names.stepBias), block('ssm_dt'), 'matrix', { suffix: '.bias', values: ofHeads });
  add(full(names.norm), block('ssm_norm'), 'matrix');
  add(full(names.output), block('ssm_out'), 'matrix', { values: 'columns' });
}

function addSelectiveScan(
  names: SelectiveScanNames,
  full: NameOf,
  block: NameOf,
  add: AddPlace,
): void {
  add(full(names.input), block('ssm_in'), 'matrix');
  add(full(names.convolution), block('ssm_conv1d'), 'matrix');
  add(full(names.decay), block('ssm_a'), 'decay', { suffix: '' });
  add(full(names.stepBias), block('ssm_dt'), 'matrix', { suffix: '.bias' });
  add(full(names.skip), block('ssm_d'), 'matrix', { suffix: '' });
  add(full(names.norm), block('ssm_norm'), 'matrix');
  add(full(names.output), block('ssm_out'), 'matrix');
}
