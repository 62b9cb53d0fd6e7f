/** The bodies of `/predictions/{model}`: an image's file, or JSON with one. */
import { z } from 'zod';
import { dataUrlContent, decodeBase64 } from '../../front/images/image-data.ts';
import { badRequest } from '../errors.ts';
import { parseWith } from '../schemas/parse.ts';

/** As inference APIs of Hugging Face have it. */
export const predictionBody = z.looseObject({
  /** The image's file in base64, or as a data URL. */
  inputs: z.string(),
  parameters: z
    .looseObject({
      top_k: z.int().min(1).nullish(),
      function_to_apply: z.enum(['softmax', 'sigmoid', 'none']).nullish(),
    })
    .nullish(),
});

export const predictionQuery = z.looseObject({
  top_k: z.coerce.number().int().min(1).optional(),
});

export interface PredictionRequest {
  readonly file: Uint8Array;
  readonly topK: number | null;
  readonly function: 'softmax' | 'sigmoid' | 'none' | null;
}

/** @throws ApiError 400 naming the field */
export async function parsePrediction(json: unknown): Promise<PredictionRequest> {
  const { inputs, parameters } = parseWith(predictionBody, json);
  const file = await decodeBase64(dataUrlContent(inputs) ?? inputs);
  if (file === null) {
    const message = '`inputs`: expected the file of an image in base64, or a data URL of it.';
    throw badRequest(message, 'inputs', 'invalid_value');
  }
  return {
    file,
    topK: parameters?.top_k ?? null,
    function: parameters?.function_to_apply ?? null,
  };
}
