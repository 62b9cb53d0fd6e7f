/** Reads SentencePiece's models (`tokenizer.model`, `spiece.model`), which are protocol buffers. */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { ModelError } from '../model-error.ts';
import { NORMAL } from './token-kinds.ts';

export interface Piece {
  readonly text: string;
  readonly score: number;
  /** See token-kinds.ts. */
  readonly kind: number;
}

export interface SentencePieceFile {
  readonly pieces: readonly Piece[];
  /** 1 for Unigram, 2 for BPE, 3 for words, 4 for characters. */
  readonly modelType: number;
  readonly byteFallback: boolean;
  /** Whether a space belongs to the word before it. */
  readonly spacesAreSuffixes: boolean;
  readonly unknownId: number;
  /** -1 if there is none, as of the end. */
  readonly bosId: number;
  readonly eosId: number;
  /** Name of the rules by which characters are replaced. */
  readonly rules: string;
  /** The rules; empty if there are none. */
  readonly charsmap: Uint8Array;
  readonly addsPrefix: boolean;
  readonly removesSpaces: boolean;
  readonly escapesSpaces: boolean;
}

type Field = (reader: BinaryReader) => void;

/** Wire types by field, that a field of another type is not read as if it were of its own. */
interface Fields {
  readonly [number: number]: readonly [WireType, Field];
}

/** @throws {ModelError} if the file is damaged, or none of SentencePiece's */
export function readSentencePiece(bytes: Uint8Array, path: string): SentencePieceFile {
  const pieces: Piece[] = [];
  const trainer = { modelType: 1, byteFallback: false, spacesAreSuffixes: false };
  const ids = { unknownId: 0, bosId: 1, eosId: 2 };
  const normalizer = {
    rules: '',
    charsmap: new Uint8Array(),
    addsPrefix: true,
    removesSpaces: true,
    escapesSpaces: true,
  };
  const { LengthDelimited, Varint } = WireType;
  try {
    readFields(new BinaryReader(bytes), {
      1: [LengthDelimited, (reader) => pieces.push(readPiece(reader.bytes()))],
      2: [
        LengthDelimited,
        (reader) =>
          readFields(new BinaryReader(reader.bytes()), {
            3: [Varint, (each) => (trainer.modelType = each.int32())],
            24: [Varint, (each) => (trainer.spacesAreSuffixes = each.bool())],
            35: [Varint, (each) => (trainer.byteFallback = each.bool())],
            40: [Varint, (each) => (ids.unknownId = each.int32())],
            41: [Varint, (each) => (ids.bosId = each.int32())],
            42: [Varint, (each) => (ids.eosId = each.int32())],
          }),
      ],
      3: [
        LengthDelimited,
        (reader) =>
          readFields(new BinaryReader(reader.bytes()), {
            1: [LengthDelimited, (each) => (normalizer.rules = each.string())],
            2: [LengthDelimited, (each) => (normalizer.charsmap = each.bytes().slice())],
            3: [Varint, (each) => (normalizer.addsPrefix = each.bool())],
            4: [Varint, (each) => (normalizer.removesSpaces = each.bool())],
            5: [Varint, (each) => (normalizer.escapesSpaces = each.bool())],
          }),
      ],
    });
  } catch (error) {
    throw new ModelError(`${path} is damaged, or no model of SentencePiece`, { cause: error });
  }
  if (pieces.length === 0) throw new ModelError(`${path} has no tokens of SentencePiece`);
  return { pieces, ...trainer, ...ids, ...normalizer };
}

function readPiece(bytes: Uint8Array): Piece {
  const piece = { text: '', score: 0, kind: NORMAL };
  readFields(new BinaryReader(bytes), {
    1: [WireType.LengthDelimited, (reader) => (piece.text = reader.string())],
    2: [WireType.Bit32, (reader) => (piece.score = reader.float())],
    3: [WireType.Varint, (reader) => (piece.kind = reader.int32())],
  });
  return piece;
}

function readFields(reader: BinaryReader, fields: Fields): void {
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const known = fields[number];
    if (known?.[0] === type) known[1](reader);
    else reader.skip(type, number);
  }
}
