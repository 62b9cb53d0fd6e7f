/** /slots/{id} as llama-server has it: saves the text of a slot, has it computed again, forgets it. */
import type { Hono } from 'hono';
import type { Logger } from 'pino';
import type { Caller } from '../../front/caller.ts';
import { isFileError, reasonOf } from '../../files/system-error.ts';
import { callerOf } from '../auth/auth.ts';
import type { ServerContext, ServerEnv } from '../context.ts';
import { ApiError, badRequest } from '../errors.ts';
import { bytesOfText } from '../../front/slots/saved-text.ts';
import { chargedPrefetch } from '../generation/charged-prefetch.ts';
import { requireServing } from '../generation/start-generation.ts';
import type { JsonObject } from '../json-object.ts';
import { withModel } from '../model-access.ts';
import type { ServedText } from '../runtimes.ts';
import { type SlotBody, slotBody, type SlotQuery, slotQuery } from '../schemas/slots.ts';
import { parseWith } from '../schemas/parse.ts';

type Slots = NonNullable<ServedText['slots']>;

export function slotActions(app: Hono<ServerEnv>, context: ServerContext): void {
  const { logger } = context;
  app.post('/slots/:id', async (c) => {
    const caller = callerOf(context, c);
    requireServing(context, caller.client);
    const { action } = parseWith(slotQuery, c.req.query());
    const read = await context.bodies.readWithTail(c.env.incoming, caller.client, null);
    const body = parseWith(slotBody, read.json ?? {});
    return withModel(context, body, caller, async (served) => {
      const slots = requireSlots(served);
      const slot = toSlot(slots, c.req.param('id'));
      return c.json(await act(action, { logger, served, slots, slot, body }, caller));
    });
  });
}

interface Asked {
  readonly logger: Logger;
  readonly served: ServedText;
  readonly slots: Slots;
  readonly slot: number;
  readonly body: SlotBody;
}

async function act(action: SlotQuery['action'], asked: Asked, caller: Caller): Promise<JsonObject> {
  const { logger, slots, slot, body } = asked;
  if (action === 'erase') {
    const { client } = caller;
    if (body.filename)
      await reachDisk(logger, () => slots.files.remove(client, body.filename ?? ''));
    return { id_slot: slot, n_erased: slots.texts.remove(client, slot) };
  }
  const { filename } = body;
  if (!filename) {
    throw badRequest('`filename` is required.', 'filename', 'missing_required_parameter');
  }
  return await (action === 'save' ? save : restore)(asked, filename, caller);
}

async function save(
  { logger, slots, slot }: Asked,
  filename: string,
  { client }: Caller,
): Promise<JsonObject> {
  const startedAt = performance.now();
  const text = slots.texts.get(client, slot);
  if (text === null) {
    throw badRequest(`Slot ${slot} has no text: no request of yours has ended in it.`);
  }
  const bytes = await reachDisk(logger, () => slots.files.save(client, filename, text));
  return {
    id_slot: slot,
    filename,
    n_saved: text.tokenIds.length,
    n_written: bytes,
    timings: { save_ms: performance.now() - startedAt },
  };
}

/** Blocks of the text that are kept are read, and the rest is computed: its answer comes when it is there. */
async function restore(
  { logger, served, slots, slot }: Asked,
  filename: string,
  caller: Caller,
): Promise<JsonObject> {
  const startedAt = performance.now();
  const { client } = caller;
  const text = await reachDisk(logger, () => slots.files.read(client, filename));
  const { vocabSize, maxModelLen } = served.model;
  const fits = text !== null && text.tokenIds.length < maxModelLen && text.tokenIds.length > 0;
  if (!fits || text.tokenIds.some((id) => id < 0 || id >= vocabSize)) {
    const message = 'Unable to restore slot: there is no such file of yours, or not of this model.';
    throw badRequest(message, 'filename', 'invalid_value');
  }
  const { tokenIds, cacheSalt } = text;
  await chargedPrefetch(served, tokenIds, cacheSalt, caller);
  slots.texts.put(client, slot, text);
  return {
    id_slot: slot,
    filename,
    n_restored: tokenIds.length,
    n_read: bytesOfText(tokenIds.length),
    timings: { restore_ms: performance.now() - startedAt },
  };
}

/** @throws ApiError 501 where there is no folder to save in */
function requireSlots({ slots }: ServedText): Slots {
  if (slots) return slots;
  const message =
    'This server does not support slots action. Start it with `--prefix-cache-dir`, on the CPU.';
  throw new ApiError(501, 'not_supported_error', message, { code: 'slots_not_kept' });
}

function toSlot({ texts }: Slots, id: string): number {
  const slot = /^\d{1,6}$/.test(id) ? Number(id) : -1;
  if (texts.has(slot)) return slot;
  throw badRequest('Invalid slot ID: /props tells `total_slots`.', 'id', 'invalid_value');
}

/** @throws ApiError 503 where the disk is full or refuses */
async function reachDisk<T>(logger: Logger, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!isFileError(error)) throw error;
    logger.warn({ reason: reasonOf(error) }, 'a text of /slots could not be saved or read');
    const message = 'The file of the slot could not be read or written: see the log.';
    throw new ApiError(503, 'server_error', message, { code: 'storage_failed' });
  }
}
