/** Models that generate text, through tensors: texts in, texts out. */
import type { Caller } from '../../front/caller.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import { maxPromptTokens } from '../../front/prompts/prompt-length.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { toSettings } from '../generation/parameters.ts';
import { startGeneration } from '../generation/start-generation.ts';
import { grammarOf } from '../generation/structured-outputs.ts';
import { CompletionText, gather } from '../generation/gather.ts';
import type { InferRequest, InferResponse } from './infer-request.ts';
import { badTensor, type Tensor } from './tensor.ts';
import { embedTexts } from './encoder-model.ts';
import { type InferenceModel, type InferenceSignature, inOnePiece } from './inference-kind.ts';
import { INPUTS, type TextRequest, textRequestOf } from './text-request.ts';
import { told } from '../../told.ts';

/** vLLM's default. */
const DEFAULT_MAX_TOKENS = 16;

/** Names of the output tensors. Only the first is sent unasked. */
export const OUTPUTS = {
  text: 'text_output',
  finishReason: 'finish_reason',
  numInputTokens: 'num_input_tokens',
  numOutputTokens: 'num_output_tokens',
} as const;

/** A vector of each text, in place of what the model would go on with. */
const EMBEDDING = 'embedding';

const SIGNATURE: InferenceSignature = {
  platform: 'chairlift_text_generation',
  streams: true,
  maxBatchSize: 0,
  inputs: [
    { name: INPUTS.text, datatype: 'BYTES', shape: [-1], isOptional: false },
    { name: INPUTS.stream, datatype: 'BOOL', shape: [1], isOptional: true },
    { name: INPUTS.sampling, datatype: 'BYTES', shape: [1], isOptional: true },
    { name: INPUTS.excludeInput, datatype: 'BOOL', shape: [1], isOptional: true },
  ],
  outputs: [
    { name: OUTPUTS.text, datatype: 'BYTES', shape: [-1] },
    { name: OUTPUTS.finishReason, datatype: 'BYTES', shape: [-1] },
    { name: OUTPUTS.numInputTokens, datatype: 'UINT32', shape: [-1] },
    { name: OUTPUTS.numOutputTokens, datatype: 'UINT32', shape: [-1] },
    { name: EMBEDDING, datatype: 'FP32', shape: [-1, -1] },
  ],
};

/** Generates text, unless the request asks for the output `embedding` alone. */
export function textModel(model: ServedText): InferenceModel {
  const generate = async (request: InferRequest, caller: Caller): Promise<InferResponse> => {
    const text = textRequestOf(request);
    requireOutputs(request);
    if (text.stream) {
      throw badTensor(INPUTS.stream, 'one answer has no stream; ask for it where answers stream');
    }
    const toResponse = responseMaker(model, request, text.shape);
    return toResponse(await generateTexts(model, text, caller), true);
  };
  const infer = (request: InferRequest, caller: Caller) =>
    wantsEmbeddings(request)
      ? embedTexts(model.modelKey, model.encoder, onlyText(request), caller)
      : generate(request, caller);
  return {
    key: model.modelKey,
    signature: SIGNATURE,
    infer,
    async stream(request, caller) {
      if (wantsEmbeddings(request)) return inOnePiece(() => infer(request, caller));
      const text = textRequestOf(request);
      requireOutputs(request);
      if (!text.stream) return inOnePiece(() => generate(request, caller));
      const toResponse = responseMaker(model, request, text.shape);
      return streamText(model, text, caller, (answer, isFinal) => toResponse([answer], isFinal));
    },
  };
}

function wantsEmbeddings({ outputs: [first, second] }: InferRequest): boolean {
  return first?.name === EMBEDDING && second === undefined;
}

/**
 * Checks the inputs, and keeps only the text: the others affect no vector.
 * @throws ApiError 400 naming a bad tensor
 */
function onlyText(request: InferRequest): InferRequest {
  textRequestOf(request);
  return { ...request, inputs: request.inputs.filter(({ name }) => name === INPUTS.text) };
}

export interface TextAnswer {
  readonly text: string;
  /** Null while there is more to come. */
  readonly finishReason: string | null;
  /** The stop string or token that ended it; null for any other end. */
  readonly stopReason: string | number | null;
  readonly numInputTokens: number;
  readonly numOutputTokens: number;
}

/** The whole answers to all texts. @throws ApiError 4xx; as `startGeneration` */
export async function generateTexts(
  model: ServedText,
  text: TextRequest,
  caller: Caller,
): Promise<readonly TextAnswer[]> {
  const request = await prepare(model, text, caller);
  const deltas = await startGeneration(model, request, caller);
  const { choices } = await gather(deltas, request, () => new CompletionText());
  return choices.map(({ content, finishReason, stopReason, tokenIds }, index) => ({
    text: (text.prependsInput ? text.texts[index] : '') + content.text,
    finishReason,
    stopReason,
    numInputTokens: request.prompts[index]?.promptTokenIds.length ?? 0,
    numOutputTokens: tokenIds.length,
  }));
}

/** The answer to one text as it grows. @throws ApiError 4xx; as `startGeneration` */
export async function streamText<Piece>(
  model: ServedText,
  text: TextRequest,
  caller: Caller,
  toPiece: (answer: TextAnswer, isFinal: boolean) => Piece,
): Promise<AsyncIterableIterator<Piece>> {
  if (text.texts.length > 1) throw badTensor(INPUTS.text, 'a stream is of one text');
  const request = await prepare(model, text, caller);
  const numInputTokens = request.prompts[0]?.promptTokenIds.length ?? 0;
  const deltas = await startGeneration(model, request, caller);
  return mapStream(deltas, ({ text: piece, tokenIds, finishReason, stopReason }: GenerationDelta) =>
    toPiece(
      { text: piece, finishReason, stopReason, numInputTokens, numOutputTokens: tokenIds.length },
      finishReason !== null,
    ),
  );
}

async function prepare(
  served: ServedText,
  { texts, fields }: TextRequest,
  caller: Caller,
): Promise<FanOutRequest> {
  const { admission, prompts: encoder, model } = served;
  if (texts.length > admission.mostPerRequest) {
    const most = `this server takes at most ${admission.mostPerRequest} at once`;
    throw badTensor(INPUTS.text, `it holds ${texts.length} texts, but ${most}`);
  }
  const grammar = grammarOf(fields);
  const settings = {
    ...toSettings(fields, model),
    promptLogprobs: null,
    badWords: await encoder.encodeBadWords(fields.bad_words ?? [], caller),
  };
  const limits = {
    maxTokens: fields.max_tokens ?? null,
    defaultMaxTokens: DEFAULT_MAX_TOKENS,
    truncatePromptTokens: fields.truncate_prompt_tokens ?? null,
    truncationSide: fields.truncation_side ?? 'left',
    grammar,
    fields: { prompt: INPUTS.text, maxTokens: 'max_tokens' },
  };
  const maxTokens = maxPromptTokens(fields.truncate_prompt_tokens, model);
  const encoded = await encodeTexts(served, texts, { maxTokens, field: INPUTS.text }, caller);
  const prompts = encoded.map((tokenIds) => fitContext(settings, tokenIds, limits, model));
  const streamInterval = fields.stream_interval ?? 1;
  return { prompts, numChoices: 1, streamInterval, ...(grammar === null ? {} : { grammar }) };
}

function requireOutputs({ outputs }: InferRequest): void {
  const known: readonly string[] = Object.values(OUTPUTS);
  const unknown = outputs.find(({ name }) => !known.includes(name));
  if (unknown === undefined) return;
  const name = told(unknown.name, 64);
  throw badRequest(`The model has no output \`${name}\`.`, 'outputs', 'invalid_value');
}

function responseMaker(
  { model, modelKey }: ServedText,
  { id, outputs }: InferRequest,
  shape: readonly number[],
): (answers: readonly TextAnswer[], isFinal: boolean) => InferResponse {
  const wanted = outputs.length === 0 ? [OUTPUTS.text] : outputs.map((output) => output.name);
  return (answers, isFinal) => ({
    // An adapter's name, if one was asked for.
    model: model.id,
    version: modelKey.version,
    id,
    outputs: wanted.map((output) => tensorOf(output, shape, answers)),
    isFinal,
  });
}

function tensorOf(name: string, shape: readonly number[], answers: readonly TextAnswer[]): Tensor {
  const ofBytes = (texts: readonly string[]): Tensor => ({
    name,
    datatype: 'BYTES',
    shape,
    data: texts.map((text) => Buffer.from(text)),
  });
  const ofCounts = (counts: readonly number[]): Tensor => ({
    name,
    datatype: 'UINT32',
    shape,
    data: new Uint8Array(Uint32Array.from(counts).buffer),
  });
  if (name === OUTPUTS.numInputTokens) {
    return ofCounts(answers.map(({ numInputTokens }) => numInputTokens));
  }
  if (name === OUTPUTS.numOutputTokens) {
    return ofCounts(answers.map(({ numOutputTokens }) => numOutputTokens));
  }
  if (name === OUTPUTS.finishReason) {
    return ofBytes(answers.map(({ finishReason }) => finishReason ?? ''));
  }
  return ofBytes(answers.map(({ text }) => text));
}
