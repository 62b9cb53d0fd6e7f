import { normOutputs } from '../model/encoder/bert-graph.ts';
import type { BertConfig } from '../model/encoder/encoder-config.ts';
import type { ChannelReaches } from '../model/encoder/smoothing.ts';
import { runForOutputs } from '../ort/run-for-outputs.ts';
import { Tensor } from '../ort/tensor.ts';
import { Session } from '../ort/session.ts';
import type { TokenInput } from './process/protocol.ts';
import { packedFeed } from './token-feeds.ts';

const NUM_TEXTS = 16;
const NUM_TOKENS = 32;
const SEED = 0x2545_f491;

/**
 * How large the channels of an encoder's normalizations get, over made-up texts: which of them are
 * large is in the model, and hardly in what it reads.
 * @param graphPath of a graph that shows normalizations
 */
export function calibrateEncoder(graphPath: string, config: BertConfig): ChannelReaches {
  const session = new Session(graphPath);
  const names = normOutputs(config);
  const inputs = packedFeed(config)(madeUpTexts(config));
  const tensors = runForOutputs(session, inputs, names);
  try {
    const made = tensors.map((tensor) => (tensor instanceof Tensor ? tensor.data : null));
    return new Map(names.map((name, index) => [name, reachOf(made[index], config)]));
  } finally {
    for (const tensor of [...inputs.values(), ...tensors]) tensor.release();
    session.release();
  }
}

function madeUpTexts({ vocabSize, numPositions, firstPosition }: BertConfig): TokenInput[] {
  const length = Math.min(NUM_TOKENS, numPositions - firstPosition);
  let state = SEED;
  return Array.from({ length: NUM_TEXTS }, () => {
    const ids = Int32Array.from({ length }, () => {
      // xorshift32
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % vocabSize;
    });
    return { type: 'tokens', ids, secondStart: length };
  });
}

/** The largest magnitude of each column. */
function reachOf(values: unknown, { hiddenSize }: BertConfig): Float32Array {
  if (!(values instanceof Float32Array))
    throw new Error('a normalization has an output that is not float32');
  const reach = new Float32Array(hiddenSize);
  for (let i = 0; i < values.length; i++) {
    const column = i % hiddenSize;
    reach[column] = Math.max(reach[column] ?? 0, Math.abs(values[i] ?? 0));
  }
  return reach;
}
