/** Late interaction: a vector for each token, and scores of pairs of texts by these. */
import type { Caller } from '../caller.ts';
import {
  countsOf,
  type EmbedOptions,
  EncoderInputError,
  requireOutputRoom,
  type Scores,
  type TokenEmbeddings,
} from './embed-request.ts';
import { placedIn } from './encoder-tokenizer.ts';
import { countedVectors, type LateReader, type LateSide, type LateText } from './late-texts.ts';
import { MaxSim } from './max-sim.ts';
import { inGroups } from './text-groups.ts';
import type { TextInputs } from './text-inputs.ts';
import type { TextRuns } from './text-runs.ts';

export interface LateModelOptions {
  readonly reader: LateReader;
  readonly inputs: Pick<TextInputs, 'encode'>;
  /** Longest text in tokens. */
  readonly maxTokens: number;
  readonly runs: Pick<TextRuns, 'vectors'>;
}

type Options = Pick<EmbedOptions, 'truncate' | 'priority'>;
type Pairs = readonly (readonly [query: string, document: string])[];

export class LateModel {
  readonly #options: LateModelOptions;

  constructor(options: LateModelOptions) {
    this.#options = options;
  }

  /**
   * Vectors of the tokens that count. Texts are documents, unless the prompt's name is `query`.
   * @param width of a vector @throws as TextEncoder.embedTokens
   */
  async embedTokens(
    inputs: readonly (string | Int32Array)[],
    { promptName = null, ...options }: Omit<EmbedOptions, 'dimensions'>,
    caller: Caller,
    width: number,
  ): Promise<TokenEmbeddings> {
    const texts = inputs.filter((input) => typeof input === 'string');
    if (texts.length < inputs.length) {
      throw new EncoderInputError('the model takes texts, and puts tokens of its own among theirs');
    }
    const side = sideOf(promptName);
    const read = await this.#read(
      texts,
      side,
      side === 'query' || options.truncate === true,
      caller,
    );
    requireOutputRoom(countsOf(read).numTokens * width);
    const vectors = await this.#vectors(read, options, caller, width);
    return { vectors, ...countsOf(read), width };
  }

  /** MaxSim of each pair. @param width of a vector @throws as TextEncoder.score */
  async score(
    pairs: Pairs,
    { truncate = true, ...options }: Options,
    caller: Caller,
    width: number,
  ): Promise<Scores> {
    const queries = [...new Set(pairs.map(([query]) => query))];
    // Longer ones are always cut: their length is part of the model.
    const read = await this.#read(queries, 'query', true, caller);
    let { numTokens } = countsOf(read);
    requireOutputRoom(numTokens * width);
    const vectors = await this.#vectors(read, options, caller, width);
    const ofQuery = new Map(queries.map((query, index) => [query, vectors[index]]));
    const scores = new Float32Array(pairs.length);
    const maxSim = new MaxSim();
    // Documents a few at a time, so that few vectors are in memory.
    for (const group of inGroups([...pairs.entries()], ([, [, text]]) => text.length)) {
      const places = group.map(([place]) => place);
      const texts = group.map(([, [, text]]) => text);
      const documents = await this.#read(texts, 'document', truncate, caller).catch(
        (error: unknown) => {
          throw placedIn(places, error);
        },
      );
      numTokens += countsOf(documents).numTokens;
      const made = await this.#vectors(documents, options, caller, width);
      for (const [index, [place, [query]]] of group.entries()) {
        const [ofOne, ofOther] = [ofQuery.get(query), made[index]];
        if (ofOne && ofOther) scores[place] = await maxSim.score(ofOne, ofOther, width);
      }
    }
    if (caller.record) caller.record.numPromptTokens = numTokens;
    return { logits: scores, scores, numTokens };
  }

  async #read(
    texts: readonly string[],
    side: LateSide,
    truncate: boolean,
    caller: Caller,
  ): Promise<LateText[]> {
    const { reader, inputs, maxTokens } = this.#options;
    const most = reader.maxTokens(side, maxTokens);
    const encoded = await inputs.encode(texts, '', truncate, caller, most);
    return encoded.map((text) => reader.read(text, side, maxTokens));
  }

  async #vectors(
    texts: readonly LateText[],
    { priority = 0 }: Options,
    caller: Caller,
    width: number,
  ): Promise<Float32Array[]> {
    const all = await this.#options.runs.vectors(texts, priority, caller, width);
    return texts.map((text, index) =>
      countedVectors(all[index] ?? new Float32Array(), text, width),
    );
  }
}

/** @throws EncoderInputError for another name than those of the two sides */
function sideOf(promptName: EmbedOptions['promptName']): LateSide {
  const names =
    promptName === null || promptName === undefined ? ['document'] : [promptName].flat();
  const side = names.find((name) => name === 'query' || name === 'document');
  if (side !== undefined) return side;
  throw new EncoderInputError(`the model has no prompt "${names[0]}"; it has query, document`);
}
