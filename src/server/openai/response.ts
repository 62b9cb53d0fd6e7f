/** Parts of a response that both completion APIs share. */
import type { Caller } from '../../front/caller.ts';
import type { UsageCounter } from '../../front/generation/token-usage.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { createId } from '../ids.ts';
import type { GenerationFields } from '../schemas/fields.ts';
import { grantedClass, tierNameOf } from '../tiers/service-tiers.ts';
import { toUsage, type Usage } from './usage.ts';

/** Same in every chunk of one response. */
export interface ResponseHead {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  readonly model: string;
  /** Name of the service class that the request got; undefined if it asked for none. */
  readonly service_tier: string | undefined;
}

export interface ResponseOptions {
  readonly includeUsage: boolean;
  /** Running usage in every chunk. */
  readonly continuousUsage: boolean;
  readonly returnTokenIds: boolean;
}

/** @throws ApiError 400 for an unknown service class */
export function createHead(
  prefix: 'chatcmpl-' | 'cmpl-',
  { model }: Pick<ServedText, 'model'>,
  { tiers }: Pick<ServerContext, 'tiers'>,
  { service_tier: asked }: GenerationFields,
  caller: Caller,
): ResponseHead {
  const { answer } = caller;
  return {
    id: answer ? prefix + answer.id : createId(prefix),
    created: answer?.created ?? Math.floor(Date.now() / 1000),
    model: model.id,
    service_tier: asked ? tierNameOf(grantedClass(tiers, caller, asked)) : undefined,
  };
}

export function responseOptions(fields: GenerationFields): ResponseOptions {
  const includeUsage = fields.stream_options?.include_usage ?? false;
  return {
    includeUsage,
    // As in vLLM, running usage is a refinement of the final one.
    continuousUsage: includeUsage && (fields.stream_options?.continuous_usage_stats ?? false),
    returnTokenIds: fields.return_token_ids ?? false,
  };
}

/** The `usage` field of a chunk before the last: running, null, or left out, as JSON does with undefined. */
export function chunkUsage(
  options: ResponseOptions,
  counter: UsageCounter,
): Usage | null | undefined {
  if (options.continuousUsage) return toUsage(counter.usage);
  return options.includeUsage ? null : undefined;
}
