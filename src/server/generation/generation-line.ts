/** The way of a generation, in order. */
import type { ServerContext } from '../context.ts';
import type { TextRuntime } from '../runtimes.ts';
import { adapted } from './stages/adapted.ts';
import { admitted } from './stages/admitted.ts';
import { bounded } from './stages/bounded.ts';
import { cached } from './stages/cached.ts';
import { computed } from './stages/computed.ts';
import { constrained } from './stages/constrained.ts';
import { granted } from './stages/granted.ts';
import { listed } from './stages/listed.ts';
import { metered } from './stages/metered.ts';
import { noted } from './stages/noted.ts';
import { paced } from './stages/paced.ts';
import { counted, recorded } from './stages/recorded.ts';
import { resumed } from './stages/resumed.ts';
import { room } from './stages/room.ts';
import { lineOf, type Next } from './stages/stage.ts';

const lines = new WeakMap<TextRuntime, { readonly server: ServerContext; readonly line: Next }>();

/** The line of a model in memory, composed when it is first asked for. */
export function generationLine(server: ServerContext, model: TextRuntime): Next {
  const known = lines.get(model);
  if (known?.server === server) return known.line;
  const line = compose(server, model);
  lines.set(model, { server, line });
  return line;
}

function compose(server: ServerContext, model: TextRuntime): Next {
  const needs = { ...server, ...model };
  return lineOf(
    [
      // First, since room and deadline depend on the service class.
      granted(needs),
      // Before any work is spent on it.
      room(needs),
      // Before anything that takes time, so that all of it can be ended.
      bounded,
      // Before what may refuse it, so that the log says what was refused.
      recorded(needs),
      // Before the cache: the compiled grammar is part of what an answer depends on.
      constrained(needs),
      // Likewise.
      adapted,
      // Around the cache, since a stored answer can move to another server too.
      resumed(needs),
      // Before the meter: an answer that was found costs nothing.
      cached(needs),
      // Before the engine: tokens are charged before they are computed.
      metered(needs),
      // From here on it waits or runs.
      listed(needs),
      // Within the cache, since an answer that was found is not counted as computed.
      counted,
      // Likewise: an answer that was found is in no slot.
      noted(needs),
      // Within all that count tokens, though it makes no difference to them: pieces are fewer.
      paced,
      // Last, so that everything above hears of a refusal as one.
      admitted,
    ],
    computed(needs),
  );
}
