/** The generate extension: text in and out by plain fields, whole or as server-sent events. */
import type { Context } from 'hono';
import { z } from 'zod';
import { mapStream } from '../../front/generation/map-stream.ts';
import { callerOf } from '../auth/auth.ts';
import type { ModelContext, ServerContext, ServerEnv } from '../context.ts';
import { requireServing } from '../generation/start-generation.ts';
import { answerStream } from '../http/answer-stream.ts';
import { type EventStyle, PLAIN_EVENTS } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { eventsWhenLoaded, isLoading } from '../while-loading.ts';
import { readTensorBody } from './body.ts';
import { toKserveEnvelope } from './errors.ts';
import type { InferRequest } from './infer-request.ts';
import { acquireTextModel } from './inference.ts';
import { generateTexts, streamText, type TextAnswer } from './text-generation.ts';
import { textRequestOfFields } from './text-request.ts';

const EVENTS: EventStyle = { ...PLAIN_EVENTS, end: '' };

export const generateBody = z.looseObject({
  id: shortText.nullish(),
  text_input: z.string(),
  /** What /v1/completions takes, and `details` for why the answer ended. */
  parameters: z.record(z.string(), z.unknown()).nullish(),
});

type GenerateTarget = Pick<InferRequest, 'model' | 'version'> & { readonly streams: boolean };

/** @throws ApiError, and whatever acquiring a model and generating throw */
export async function answerGenerate(
  c: Context<ServerEnv>,
  context: ServerContext,
  target: GenerateTarget,
): Promise<Response> {
  const caller = callerOf(context, c);
  requireServing(context, caller.client);
  const { json } = await readTensorBody(context, c.env.incoming, caller.client);
  const body = parseWith(generateBody, json ?? null);
  const { details, ...parameters } = body.parameters ?? {};
  const text = textRequestOfFields(body.text_input, parameters, target.streams);
  const acquiring = acquireTextModel(context, target, caller);
  const pieces = async (model: ModelContext) => {
    const toJson = answerWriter(model, body.id ?? '', details === true);
    const streamed = await streamText(model, text, caller, toJson);
    return mapStream(streamed, (piece) => [piece]);
  };
  if (target.streams && (await isLoading(acquiring, context.config))) {
    return streamTo(c, context, eventsWhenLoaded(acquiring, pieces));
  }
  const { model, release } = await acquiring;
  try {
    if (target.streams) return await streamTo(c, context, await pieces(model));
    const toJson = answerWriter(model, body.id ?? '', details === true);
    const [answer] = await generateTexts(model, text, caller);
    return c.json(answer === undefined ? {} : toJson(answer));
  } finally {
    release();
  }
}

function streamTo(
  c: Context<ServerEnv>,
  context: ServerContext,
  events: AsyncIterable<readonly JsonObject[]>,
): Promise<Response> {
  return answerStream(c, context, events, { style: EVENTS, toEvent: toKserveEnvelope });
}

/** Why an answer ended, in the protocol's words. */
const FINISH_REASONS: Readonly<Record<string, string>> = { length: 'length', stop: 'eos_token' };

function answerWriter(
  { model, modelKey }: ModelContext,
  id: string,
  hasDetails: boolean,
): (answer: TextAnswer) => JsonObject {
  return ({ text, finishReason, stopReason }) => ({
    ...(id === '' ? {} : { id }),
    model_name: model.id,
    model_version: modelKey.version,
    text_output: text,
    ...(hasDetails && finishReason !== null
      ? {
          details: {
            finish_reason:
              stopReason === null
                ? (FINISH_REASONS[finishReason] ?? finishReason)
                : 'stop_sequence',
          },
        }
      : {}),
  });
}
