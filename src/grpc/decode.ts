/** Messages of clients: measured before they are decoded, which nothing can stop. */
import {
  type DescField,
  type DescMessage,
  fromBinary,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { LIMITS } from '../limits.ts';
import { badRequest } from '../server/errors.ts';

/** The same bounds as of JSON: a value costs about as much. */
interface Counts {
  values: number;
  messages: number;
  texts: number;
  entries: number;
}

/** A request has parameters, and so has each of its tensors. They cost more than anything else. */
const MAX_ENTRIES = LIMITS.tensorParameters * (1 + 2 * LIMITS.tensors);

/** @throws ApiError 400 for what is no such message, or has too many parts */
export function decode<D extends DescMessage>(desc: D, bytes: Uint8Array): MessageShape<D> {
  try {
    measure(desc, new BinaryReader(bytes), bytes.length, {
      values: 0,
      messages: 0,
      texts: 0,
      entries: 0,
    });
    return fromBinary(desc, bytes, { readUnknownFields: false });
  } catch (error) {
    const reason = error instanceof BoundError ? `: ${error.message}` : '';
    throw badRequest(`The message can't be read as ${desc.typeName}${reason}.`);
  }
}

class BoundError extends Error {}

function measure(desc: DescMessage, reader: BinaryReader, end: number, counts: Counts): void {
  refuseOver(++counts.messages, LIMITS.jsonContainers, 'messages');
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    refuseOver(++counts.values, LIMITS.jsonValues, 'values');
    // Nothing here has any, and within each other they would be as many calls.
    if (wireType === WireType.StartGroup || wireType === WireType.EndGroup) {
      throw new BoundError('it has groups');
    }
    if (wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, number);
      continue;
    }
    const length = reader.uint32();
    const start = reader.pos;
    if (start + length > end) throw new BoundError('it ends too early');
    const field = desc.fields.find((known) => known.number === number);
    const message = field && messageOf(field);
    if (field?.fieldKind === 'map') {
      refuseOver(++counts.entries, MAX_ENTRIES, 'parameters');
    }
    if (message) {
      measure(message, reader, start + length, counts);
    } else {
      count(field, length, counts);
    }
    reader.pos = start + length;
  }
}

function count(field: DescField | undefined, length: number, counts: Counts): void {
  const scalar = field?.fieldKind === 'list' && field.listKind === 'scalar' ? field.scalar : null;
  if (scalar === null || scalar === ScalarType.STRING || scalar === ScalarType.BYTES) {
    refuseOver(++counts.texts, LIMITS.jsonStrings, 'texts');
    return;
  }
  counts.values += Math.ceil(length / (PACKED_BYTES.get(scalar) ?? 1));
  refuseOver(counts.values, LIMITS.jsonValues, 'values');
}

/** Least bytes that a packed scalar takes; 1 for types left out. */
const PACKED_BYTES: ReadonlyMap<ScalarType, number> = new Map([
  [ScalarType.FLOAT, 4],
  [ScalarType.DOUBLE, 8],
]);

function messageOf(field: DescField): DescMessage | undefined {
  if (field.fieldKind === 'message') return field.message;
  return field.fieldKind === 'list' && field.listKind === 'message' ? field.message : undefined;
}

function refuseOver(number: number, limit: number, what: string): void {
  if (number > limit) throw new BoundError(`it has more than ${limit} ${what}`);
}
