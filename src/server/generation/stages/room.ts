import { ShuttingDownError } from '../../../front/queue/admission.ts';
import type { ServerContext } from '../../context.ts';
import type { TextRuntime } from '../../runtimes.ts';
import { unavailable } from '../../errors.ts';
import type { Stage } from './stage.ts';

type Room = Pick<TextRuntime, 'engine' | 'admission'>;

/** @throws ApiError 503 when the engine takes nothing; QueueFullError */
export function requireRoom({ engine, admission }: Room, client: string, priority: number): void {
  const { state } = engine;
  if (state === 'failed' || state === 'stopped' || state === 'starting') {
    throw unavailable(`The engine is ${state}.`);
  }
  admission.requireRoom(0, client, priority);
}

/**
 * Refuses before work is spent on a request: templates, grammars and stores cost time.
 * @throws ShuttingDownError; as `requireRoom`
 */
export function room(needs: Room & Pick<ServerContext, 'isDraining'>): Stage {
  return (generation, next) => {
    const [first] = generation.request.prompts;
    // Its request was let in.
    if (first?.isNextPart) return next(generation);
    if (needs.isDraining()) throw new ShuttingDownError();
    requireRoom(needs, generation.caller.client, first?.serviceClass?.priority ?? 0);
    return next(generation);
  };
}
