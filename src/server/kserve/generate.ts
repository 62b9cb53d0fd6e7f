/** The generate extension: text in and out by plain fields, whole or as server-sent events. */
import type { Context } from 'hono';
import { z } from 'zod';
import { mapStream } from '../../front/generation/map-stream.ts';
import type { Caller } from '../../front/caller.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import { runAnswer } from '../answers/run-answer.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { requireServing } from '../generation/start-generation.ts';
import { HttpSink } from '../answers/http-sink.ts';
import { PLAIN_EVENTS } from '../http/sse.ts';
import type { JsonObject } from '../json-object.ts';
import { shortText } from '../schemas/fields.ts';
import { parseWith } from '../schemas/parse.ts';
import { readTensorBody } from './body.ts';
import { toKserveEnvelope } from './errors.ts';
import type { InferRequest } from './infer-request.ts';
import { acquireTextModel } from './inference.ts';
import { generateTexts, streamText, type TextAnswer } from './text-generation.ts';
import { textRequestOfFields } from './text-request.ts';

const FORM = { style: { ...PLAIN_EVENTS, end: '' }, toEvent: toKserveEnvelope };

export const generateBody = z.looseObject({
  id: shortText.nullish(),
  text_input: z.string(),
  /** Fields of /v1/completions, and `details` for why the answer ended. */
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
  const prepare = async (model: ServedText): Promise<PreparedAnswer> => {
    const toJson = answerWriter(model, body.id ?? '', details === true);
    return {
      stream: target.streams,
      chunks: async (starter) =>
        mapStream(await streamText(model, text, starter, toJson), (piece) => [piece]),
      async whole(starter) {
        const [answer] = await generateTexts(model, text, starter);
        return answer === undefined ? {} : toJson(answer);
      },
    };
  };
  const acquire = (asker: Caller) => acquireTextModel(context, target, asker);
  const { streams } = target;
  const asked = { json, caller, movable: null, streams, prepare, acquire };
  return runAnswer(context, asked, new HttpSink(c, context, FORM));
}

/** Why an answer ended, in the protocol's words. */
const FINISH_REASONS: Readonly<Record<string, string>> = { length: 'length', stop: 'eos_token' };

function answerWriter(
  { model, modelKey }: ServedText,
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
