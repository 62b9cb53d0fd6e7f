import type { Context } from 'hono';
import type { Caller } from '../../front/caller.ts';
import type { ServerEnv } from '../context.ts';
import type { EmbeddingRuntime } from './embed.ts';

/** Answers a body with the model that it names. */
export type Answer = (
  runtime: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
) => Promise<Response>;
