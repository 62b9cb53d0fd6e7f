/** Whether somebody else's request has to wait for an attack. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './client.ts';

/** Beside an attack a request may take so many times as long as alone, and this much longer. */
const MAX_RATIO = 3;
const MAX_DELAY_MS = 1000;

/** In which an attack gets going. */
const HEAD_START_MS = 300;

/**
 * Sends a request alone, then the same kind of request beside an attack.
 * @param ask sends one; `turn` is to make each another, so that none finds what an earlier one left
 * @returns what is wrong, in words
 */
export async function delayBeside(
  attack: () => Promise<unknown>,
  ask: (turn: number) => Promise<Answer>,
): Promise<readonly string[]> {
  const alone = await ask(1);
  const mounted = attack();
  await sleep(HEAD_START_MS);
  const beside = await ask(2);
  await mounted;
  const isServed = beside.status === 200 && beside.ms < alone.ms * MAX_RATIO + MAX_DELAY_MS;
  if (isServed) return [];
  return [
    `another key's request took ${beside.ms.toFixed(0)} ms (${beside.status}), ${alone.ms.toFixed(0)} ms alone`,
  ];
}
