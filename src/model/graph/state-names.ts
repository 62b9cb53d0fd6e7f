type StatePrefix = 'past_states' | 'present_states';

/** Inputs of a group of sequences that say which rows of the states' pools are theirs, int32 [batch] each. */
export const STATE_INPUTS = ['state_from', 'state_to', 'state_tokens'] as const;

/** Name of a graph's input or output with the pool of a state that the manifest names. */
export function statePoolName(prefix: StatePrefix, state: string): string {
  return `${prefix}.${state}`;
}
