import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { decoderGraph } from './decoder.ts';
import type { NumberFormats } from './number-formats.ts';
import { OnnxRuntimeOps } from './onnxruntime-ops.ts';
import type { Prediction } from './prediction.ts';
import { predictionGraph } from './prediction-graph.ts';
import { pagedAttention } from './paged-attention.ts';
import { slotAttention } from './slot-attention.ts';
import type { GroupPrefix } from './token-packing.ts';

/** One group of sequences. */
export const ONE_GROUP: readonly GroupPrefix[] = [''];
/** Sequences that decode, and others that prefill. */
export const MIXED_GROUPS: readonly GroupPrefix[] = ['', 'prefill.'];

/**
 * Describes a decoder as an ONNX graph. Weights are fetched when the graph is written.
 *
 * Inputs: `input_ids` int64 [batch, seq]; `seqlens_k` int32 [batch], each sequence's length after this
 * step minus one; `total_sequence_length` int32 [], the longest of those lengths; `logits_index`
 * int64 [wanted], the places in `input_ids`, sequence by sequence, whose logits are wanted; and
 * `past_key_values.{layer}.key|value` [batch, kv_heads, capacity, head_dim], of the activations' type or
 * int8.
 * Outputs: `logits` float [wanted, vocab]; `hidden` float [wanted, hidden], the last norm's output; and
 * `present.{layer}.key|value`, shaped like the past: bound to the past's own buffers, they are appended
 * to in place.
 *
 * With `MIXED_GROUPS` one run has two groups of sequences. Those that prefill have the same inputs and
 * outputs with names after `prefill.`. What works token by token reads its weights once for both.
 * Attention runs for each group by itself. `logits_index` numbers the prefill group's places after those
 * of the decode group.
 *
 * With `formats.takesEmbeddings` there are two inputs more: rows that stand in for tokens, and where; see
 * prompt-embeddings.ts.
 */
export function buildDecoderGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
  groups: readonly GroupPrefix[] = ONE_GROUP,
): GraphBuilder {
  return decoderGraph(
    new OnnxRuntimeOps(config, weights, formats),
    (graph, type) => slotAttention(graph, config, type, groups, formats.kvScales),
    formats.takesEmbeddings,
  );
}

/** A module that predicts, with the inputs and outputs of predictionGraph. */
export function buildPredictionGraph(
  { config, weights, form }: Prediction,
  formats: NumberFormats,
): GraphBuilder {
  return predictionGraph(
    new OnnxRuntimeOps(config, weights, formats),
    (graph, type) => slotAttention(graph, config, type, ONE_GROUP, formats.kvScales),
    form,
  );
}

/**
 * The same decoder over a paged KV cache (PagedAttention): decode, prefill and both at once, of
 * sequences of any length, as one list of tokens. For providers with a kernel for PagedAttention:
 * they have it in float16 only.
 *
 * Inputs: `input_ids` int64 [tokens], all sequences' tokens one after the other;
 * `cumulative_sequence_length` int32 [batch + 1], where each sequence's begin and the last one's end;
 * `past_seqlens` int32 [batch], positions that the cache holds of each; `block_table` int32
 * [batch, pages per sequence]; `attention_metadata` int32 [2] in the host's memory, the most tokens
 * that one sequence has here and the length of the longest with them; `logits_index` int64 [wanted];
 * and `past_key_values.{layer}.key|value` [pages, page length, kv_heads, head_dim] of the
 * activations' type; a page's length is a power of two from 16 on.
 * Outputs: `logits` float [wanted, vocab], `hidden` float [wanted, hidden] and
 * `present.{layer}.key|value`, bound to the past's own buffers.
 */
export function buildPagedGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
): GraphBuilder {
  return decoderGraph(new OnnxRuntimeOps(config, weights, formats), (graph, type) =>
    pagedAttention(graph, config, type),
  );
}
