/** /slots, after llama-server's: what each slot of the engines is at, without texts. */
import type { Hono } from 'hono';
import type { SlotState } from '../../engine/slot-state.ts';
import { LIMITS } from '../../limits.ts';
import { requireAdmin } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import type { JsonObject } from '../json-object.ts';

export function slotsRoute(app: Hono<ServerEnv>, context: ServerContext): void {
  app.get('/slots', requireAdmin(context), async (c) => {
    const models = context.models
      .loaded()
      .flatMap(({ runtime }) => (runtime.kind === 'text' ? [runtime] : []));
    const slots = await Promise.all(
      models.map(async ({ engine, model }) =>
        (await engine.inspect()).map((slot) => describe(slot, model)),
      ),
    );
    return c.json(slots.flat().slice(0, LIMITS.listedSlots));
  });
}

function describe(
  { slot, sequence, numKeptTokens }: SlotState,
  { id, maxModelLen }: { readonly id: string; readonly maxModelLen: number },
): JsonObject {
  return {
    id: slot,
    model: id,
    n_ctx: maxModelLen,
    is_processing: sequence !== null,
    kept_tokens: numKeptTokens,
    ...(sequence === null
      ? {}
      : {
          id_task: sequence.id,
          prompt_tokens: sequence.numPromptTokens,
          cached_tokens: sequence.numCachedTokens,
          computed_tokens: sequence.numComputedTokens,
          completion_tokens: sequence.numOutputTokens,
          max_tokens: sequence.maxTokens,
          priority: sequence.priority,
        }),
  };
}
