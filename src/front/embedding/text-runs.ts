import type { TokenInput } from '../../encoder/process/protocol.ts';
import type { Caller } from '../caller.ts';
import type { EncoderOutput } from '../encoder-process/encoder-client.ts';
import type { EncoderEngine } from '../encoder-process/encoder-engine.ts';
import { countsOf } from './embed-request.ts';
import type { EncodedText } from './encoder-tokenizer.ts';
import { ownVector } from './vectors.ts';

/** A text's tokens; see TokenInput. */
export type SeenText = EncodedText & Pick<TokenInput, 'numSeen'>;

/** Has an encoder's processes compute texts, and charges their client. */
export class TextRuns {
  readonly #engine: Pick<EncoderEngine, 'submit'>;

  constructor(engine: Pick<EncoderEngine, 'submit'>) {
    this.#engine = engine;
  }

  /** Vector of each text, or with `tokenDim` those of its tokens. @throws as TextEncoder.embed */
  async vectors(
    texts: readonly SeenText[],
    priority: number,
    caller: Caller,
    tokenDim: number | null = null,
  ): Promise<Float32Array[]> {
    const outputs = await this.outputs(texts, priority, caller, { tokenDim });
    return outputs.map(([vector]) => ownVector(vector?.data));
  }

  /** @param numbers of the output of each text, apart from those of its tokens @throws as TextEncoder.embed */
  async outputs(
    texts: readonly SeenText[],
    priority: number,
    caller: Caller,
    { tokenDim = null, numbers = 0 }: { tokenDim?: number | null; numbers?: number },
  ): Promise<readonly EncoderOutput[]> {
    const wantsTokens = tokenDim !== null;
    const { numTokens } = countsOf(texts);
    if (caller.record) caller.record.numPromptTokens = numTokens;
    const requests = texts.map(({ ids, secondStart, numSeen }) => ({
      input: {
        type: 'tokens',
        ids,
        secondStart,
        wantsTokens,
        ...(numSeen !== undefined && { numSeen }),
      } as const,
      rows: 1,
      tokens: ids.length,
      // Outputs wait in the front, too; each number has four bytes, as an id has.
      bytes: ids.byteLength * (1 + (tokenDim ?? 0)) + ids.BYTES_PER_ELEMENT * numbers,
      shape: wantsTokens ? 'tokens' : '',
      priority,
    }));
    const settle = await caller.meter?.charge(numTokens);
    const outputs = await this.#engine.submit(requests, caller).catch(async (error: unknown) => {
      await settle?.(0);
      throw error;
    });
    await settle?.(numTokens);
    return outputs;
  }
}
