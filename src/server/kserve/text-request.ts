/** Requests for text, in tensors or in fields, in the form of Triton's vLLM backend. */
import { z } from 'zod';
import { badRequest } from '../errors.ts';
import { JsonText, parseScanned } from '../http/json-text.ts';
import type { JsonObject } from '../json-object.ts';
import { type GenerationFields, generationFields } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { structuredFields, type StructuredFields } from '../schemas/structured.ts';
import { rejectUnsupportedInInference } from '../schemas/unsupported.ts';
import type { InferRequest, Parameters } from './infer-request.ts';
import { badTensor, type Tensor } from './tensor.ts';

/** Names of the input tensors. */
export const INPUTS = {
  text: 'text_input',
  stream: 'stream',
  sampling: 'sampling_parameters',
  excludeInput: 'exclude_input_in_output',
} as const;

const parameters = z.looseObject({ ...generationFields, ...structuredFields });

export interface TextRequest {
  readonly texts: readonly string[];
  /** Shape of the input, and so of the output. */
  readonly shape: readonly number[];
  readonly stream: boolean;
  /** Begin each answer with its text. */
  readonly prependsInput: boolean;
  readonly fields: GenerationFields & StructuredFields;
}

/** @throws ApiError 400 naming the tensor at fault */
export function textRequestOf({ inputs, parameters: asked }: InferRequest): TextRequest {
  const byName = new Map(inputs.map((tensor) => [tensor.name, tensor]));
  if (byName.size < inputs.length) throw badRequest('Two inputs have the same name.', 'inputs');
  const known: readonly string[] = Object.values(INPUTS);
  const unknown = inputs.find(({ name }) => !known.includes(name));
  if (unknown !== undefined) throw badTensor(unknown.name, 'the model has no such input');
  const text = byName.get(INPUTS.text);
  if (text === undefined) {
    throw badRequest(`\`${INPUTS.text}\` is required.`, INPUTS.text, 'missing_required_parameter');
  }
  const texts = stringsOf(text);
  if (texts.length === 0) throw badTensor(INPUTS.text, 'it holds no text');
  const sampling = byName.get(INPUTS.sampling);
  const stream = flagOf(byName.get(INPUTS.stream)) ?? false;
  return {
    texts,
    shape: text.shape,
    ...answerForm(stream, flagOf(byName.get(INPUTS.excludeInput))),
    fields: checked({
      ...timeoutOf(asked),
      ...(sampling === undefined ? {} : objectOf(onlyString(sampling), INPUTS.sampling)),
    }),
  };
}

/** The same from the fields of the generate extension. @throws ApiError 400 */
export function textRequestOfFields(
  text: string,
  { stream, exclude_input_in_output: excludeInput, ...sampling }: JsonObject,
  isStream: boolean,
): TextRequest {
  const wantsStream = requireFlag(stream, INPUTS.stream) ?? isStream;
  if (wantsStream !== isStream) {
    const where = wantsStream ? '`generate_stream`' : '`generate`';
    throw badRequest(`\`stream\`: that is what ${where} is for.`, 'stream', 'invalid_value');
  }
  return {
    texts: [text],
    shape: [1],
    ...answerForm(isStream, requireFlag(excludeInput, INPUTS.excludeInput)),
    fields: checked(sampling),
  };
}

/**
 * As in the backend: a whole answer begins with its input unless the request excludes it, a stream
 * never.
 */
function answerForm(stream: boolean, excludesInput: boolean | null) {
  const prependsInput = !(excludesInput ?? stream);
  if (!stream || !prependsInput) return { stream, prependsInput };
  const name = INPUTS.excludeInput;
  throw badRequest(`\`${name}\` can't be false in a stream.`, name, 'invalid_value');
}

function checked(sampling: JsonObject): TextRequest['fields'] {
  const fields = parseWith(parameters, withoutQuotes(sampling));
  rejectUnsupportedInInference(fields);
  if ((fields.n ?? 1) > 1 || (fields.best_of ?? 1) > 1) {
    const param = (fields.n ?? 1) > 1 ? 'n' : 'best_of';
    throw badRequest(`\`${param}\`: a text gets one answer here.`, param, 'invalid_value');
  }
  return fields;
}

/** Numbers and truths that the backend's own examples send as texts. */
const SCALARS: readonly (keyof GenerationFields)[] = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'repetition_penalty',
  'presence_penalty',
  'frequency_penalty',
  'max_tokens',
  'min_tokens',
  'n',
  'best_of',
  'seed',
  'ignore_eos',
  'skip_special_tokens',
  'include_stop_str_in_output',
];
const SCALAR = /^(?:-?\d{1,15}(?:\.\d{1,15})?|true|false)$/;

function withoutQuotes(sampling: JsonObject): JsonObject {
  const plain: Record<string, unknown> = { ...sampling };
  for (const name of SCALARS) {
    const text = plain[name];
    if (typeof text === 'string' && SCALAR.test(text.toLowerCase())) {
      plain[name] = JSON.parse(text.toLowerCase());
    }
  }
  return plain;
}

/** Triton's request parameter, in microseconds. */
function timeoutOf({ timeout }: Parameters): JsonObject {
  return typeof timeout === 'number' || typeof timeout === 'bigint'
    ? { timeout: Number(timeout) / 1e6 }
    : {};
}

function objectOf(text: string, name: string): JsonObject {
  const json = new JsonText();
  json.push(Buffer.from(text));
  const value = parseScanned(json.end());
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw badTensor(name, 'expected a JSON object');
}

/** @throws ApiError 400 for what is no text */
export function stringsOf(tensor: Tensor): string[] {
  if (tensor.datatype !== 'BYTES') throw badTensor(tensor.name, 'expected elements of type BYTES');
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return tensor.data.map((bytes) => utf8.decode(bytes));
  } catch {
    throw badTensor(tensor.name, 'it is not UTF-8');
  }
}

function onlyString(tensor: Tensor): string {
  const [text, second] = stringsOf(tensor);
  if (text !== undefined && second === undefined) return text;
  throw badTensor(tensor.name, 'expected one element');
}

function flagOf(tensor: Tensor | undefined): boolean | null {
  if (tensor === undefined) return null;
  const { name, datatype, data } = tensor;
  if (datatype === 'BOOL' && data.length === 1) return data[0] !== 0;
  throw badTensor(name, 'expected one element of type BOOL');
}

function requireFlag(value: unknown, name: string): boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  throw badRequest(`\`${name}\`: expected true or false.`, name, 'invalid_value');
}
