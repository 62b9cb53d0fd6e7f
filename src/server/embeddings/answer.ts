import type { Context } from 'hono';
import type { Caller } from '../../front/caller.ts';
import type { ImageReader } from '../../front/chat/chat-images.ts';
import type { ServerEnv } from '../context.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';

/** Answers a body with the model that it names. @param images reader of the request's */
export type Answer = (
  runtime: EmbeddingRuntime,
  json: unknown,
  caller: Caller,
  c: Context<ServerEnv>,
  images: ImageReader,
) => Promise<Response>;
