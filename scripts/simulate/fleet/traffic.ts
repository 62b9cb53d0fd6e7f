import type { Random } from '../../../src/bench/random.ts';
import { randomTokens } from '../made-up-tokens.ts';
import { capacityPerSecond, type Machine } from '../machine.ts';
import { CHAT_MEANS, chatRequest, type SimulatedRequest, type Traffic } from '../traffic.ts';

/** How much traffic there is at a time, 0 to 1 of the run, in terms of its mean. */
export const SHAPES = {
  steady: () => 1,
  /** A day: at its peak one and a half times the mean, at night half. */
  diurnal: (time: number) => 1 - 0.5 * Math.cos(2 * Math.PI * time),
  /** Four times as much as before, for a tenth of the run. */
  'flash crowd': (time: number) => (time >= 0.4 && time < 0.5 ? 4 : 1) / 1.3,
} satisfies Record<string, (time: number) => number>;

export type Shape = keyof typeof SHAPES;

const TURNS = 4;
const PAUSE_MS = 4000;
const SYSTEM_PROMPTS = 32;
const SYSTEM_PROMPT_TOKENS = 256;

export interface FleetLoad {
  readonly machine: Machine;
  readonly numReplicas: number;
  /** Share of what the fleet could serve without a prefix cache, on average. */
  readonly load: number;
  readonly seconds: number;
  readonly shape: Shape;
}

/** Conversations with one of a few system prompts. Each is a client of its own. */
export function* conversations(
  { machine, numReplicas, load, seconds, shape }: FleetLoad,
  random: Random,
): Traffic {
  const { user, answer } = CHAT_MEANS;
  const meanPrompt = SYSTEM_PROMPT_TOKENS + user + ((TURNS - 1) * (user + answer)) / 2;
  const perSecond = (load * numReplicas * capacityPerSecond(machine, meanPrompt, answer)) / TURNS;
  const chats = {
    maxModelLen: machine.maxModelLen,
    systemPrompts: Array.from({ length: SYSTEM_PROMPTS }, () =>
      randomTokens(SYSTEM_PROMPT_TOKENS, random),
    ),
    meanTurns: TURNS,
    meanPauseMs: PAUSE_MS,
  };
  const rate = SHAPES[shape];
  const highest = Math.max(...Array.from({ length: 1000 }, (_, index) => rate(index / 1000)));
  let number = 0;
  // Thinned out from the highest rate.
  for (let atMs = 0; ;) {
    atMs += random.gamma(1, 1000 / (perSecond * highest));
    const time = atMs / (seconds * 1000);
    if (time >= 1) return;
    if (random.uniform() * highest >= rate(time)) continue;
    yield { atMs, request: fromClient(`${number++}`, chatRequest(chats, random)) };
  }
}

/** The same conversation, all turns of it from one client. */
function fromClient(client: string, request: SimulatedRequest): SimulatedRequest {
  const { followUp } = request;
  if (!followUp) return { ...request, client };
  return {
    ...request,
    client,
    followUp: (id) => {
      const { afterMs, request: next } = followUp(id);
      return { afterMs, request: fromClient(client, next) };
    },
  };
}
