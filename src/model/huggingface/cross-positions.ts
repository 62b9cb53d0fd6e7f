import type { Family } from '../families/family.ts';

/**
 * Fields of config.json with `max_position_embeddings` of a decoder that attends to an encoder's output:
 * that comes first in its KV cache, and texts after it. Those of other families stay as they are.
 */
export function withCrossPositions(
  fields: Readonly<Record<string, unknown>>,
  { crossAttention }: Pick<Family, 'crossAttention'>,
): Readonly<Record<string, unknown>> {
  if (crossAttention === undefined) return fields;
  const { max_source_positions: heard, max_target_positions: written } = fields;
  return { ...fields, max_position_embeddings: Number(heard) + Number(written) };
}
