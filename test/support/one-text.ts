import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import type { EngineAdapter } from '../../src/engine/request.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { engineRequest, READS_LOGITS } from './engine-requests.ts';

/** One sequence, computed from its first token on. */
export class OneText {
  readonly #decoder: CpuDecoder;
  readonly #sequence: Sequence;
  #length = 0;

  constructor(model: BuiltModel, maxModelLen: number, adapter: EngineAdapter | null = null) {
    const adapters = { maxActive: 1, maxCached: 1 };
    this.#decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen, adapters });
    this.#sequence = new Sequence(
      engineRequest({ promptTokenIds: new Int32Array(), adapter, sampling: READS_LOGITS }),
    );
    this.#sequence.slot = 0;
  }

  /** @returns the logits after more tokens; a decode run computes a single one */
  extend(tokenIds: readonly number[]): Float32Array {
    for (const tokenId of tokenIds) this.#sequence.append(tokenId);
    const segments = [segmentOf(this.#sequence, tokenIds.length, this.#length)];
    this.#length += tokenIds.length;
    const [result] = this.#decoder.execute({ cacheOperations: [], segments }).logits;
    return result?.logits[0]?.slice() ?? new Float32Array();
  }

  /** The likeliest tokens, one after the other. @param logits of the first */
  continueGreedily(logits: Float32Array, numTokens: number): number[] {
    const tokens: number[] = [];
    let next = logits;
    while (tokens.length < numTokens) {
      tokens.push(argmax(next));
      next = this.extend(tokens.slice(-1));
    }
    return tokens;
  }

  release(): void {
    this.#decoder.release();
  }
}
