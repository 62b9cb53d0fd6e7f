/** Inputs of a text encoder's graph for a batch of texts. */
import type { EncoderConfig } from '../model/encoder/encoder-shape.ts';
import type { Session } from '../ort/session.ts';
import { Tensor } from '../ort/tensor.ts';
import type { TokenInput } from './process/protocol.ts';
import {
  numTokens,
  packedValues,
  paddedValues,
  tableOf,
  textStarts,
  typeOf,
} from './token-table.ts';

/** Makes the inputs of a run, by name; the caller releases them. */
export type TokenFeed = (texts: readonly TokenInput[]) => Map<string, Tensor>;

const idAt = ({ ids }: TokenInput, place: number) => ids[place] ?? 0;
const isToken = () => 1;
const placeOf = (_text: TokenInput, place: number) => place;

/** 1 for each token of the table, 0 for padding. */
export function attentionMask(texts: readonly TokenInput[]): Tensor {
  return table(texts, paddedValues(texts, 0, isToken));
}

/**
 * Feed of graphs that others exported: tables.
 * @throws Error when the graph has an input that we don't know
 */
export function exportFeed(session: Session, padTokenId: number): TokenFeed {
  const known: Readonly<Record<string, (texts: readonly TokenInput[]) => Tensor>> = {
    input_ids: (texts) => table(texts, paddedValues(texts, padTokenId, idAt)),
    attention_mask: attentionMask,
    token_type_ids: (texts) => table(texts, paddedValues(texts, 0, typeOf)),
    position_ids: (texts) => table(texts, paddedValues(texts, 0, placeOf)),
  };
  const makers = session.inputs.map(({ name, type }) => {
    const make = known[name];
    if (make === undefined || type !== 'int64') {
      const names = Object.keys(known).join(', ');
      throw new Error(`the encoder has an input "${name}" (${type}); known are ${names} (int64)`);
    }
    return [name, make] as const;
  });
  return (texts) => new Map(makers.map(([name, make]) => [name, make(texts)]));
}

type PackedConfig = Pick<EncoderConfig, 'firstPosition' | 'numTypes'>;

/** Feed of graphs from buildEncoderGraph: tokens one after the other. */
export function packedFeed({ firstPosition, numTypes }: PackedConfig): TokenFeed {
  const knownTypeOf = (text: TokenInput, place: number) =>
    Math.min(typeOf(text, place), Math.max(0, numTypes - 1));
  return (texts) => {
    const { batch, seq } = tableOf(texts);
    const starts = textStarts(texts);
    const count = numTokens(texts);
    const packed = (valueOf: (text: TokenInput, place: number, row: number) => number) =>
      Tensor.over('int64', [count], packedValues(texts, valueOf));
    const padded = new BigInt64Array(batch * seq);
    for (const [row, { ids }] of texts.entries()) {
      for (let place = 0; place < ids.length; place++) {
        padded[row * seq + place] = BigInt((starts[row] ?? 0) + place);
      }
    }
    const lengths = Int32Array.from(texts, ({ ids, numSeen = ids.length }) => numSeen);
    return new Map<string, Tensor>([
      ['input_ids', packed(idAt)],
      ['token_type_ids', packed(knownTypeOf)],
      ['position_ids', packed((_text, place) => firstPosition + place)],
      ['packed', packed((_text, place, row) => row * seq + place)],
      ['padded', Tensor.over('int64', [batch, seq], padded)],
      ['lengths', Tensor.over('int32', [batch], lengths)],
      ['attention_mask', attentionMask(texts)],
    ]);
  };
}

function table(texts: readonly TokenInput[], values: BigInt64Array<ArrayBuffer>): Tensor {
  const { batch, seq } = tableOf(texts);
  return Tensor.over('int64', [batch, seq], values);
}
