import { type EncoderConfig, normOutputs } from '../model/encoder/encoder-shape.ts';
import type { ChannelReaches } from '../model/encoder/smoothing.ts';
import { channelReaches } from './channel-reaches.ts';
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
export function calibrateEncoder(graphPath: string, config: EncoderConfig): ChannelReaches {
  return channelReaches(graphPath, packedFeed(config)(madeUpTexts(config)), normOutputs(config));
}

function madeUpTexts({ vocabSize, numPositions, firstPosition }: EncoderConfig): TokenInput[] {
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
