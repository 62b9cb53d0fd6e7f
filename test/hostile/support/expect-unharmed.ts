/** Conditions that must hold of every attack. */
import { expect } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import type { Attack } from './attack.ts';
import type { Outcome } from './stage.ts';

/** For a text of the victim's before the attack, on the machine that the times below are for. */
const TEXT_MS = 165;
/** Slower machines may take longer, at most so many times. */
const MAX_SLOWNESS = 4;
/**
 * Delay of the victim's stream beyond that before the attack; time without a core left out, which is
 * the machine's to answer for.
 */
const MAX_DELAY_MS = 250;
/** The same of a probe, which waits for its turn among hundreds of requests that came at once. */
const MAX_PROBE_DELAY_MS = 1000;
/**
 * Growth of either process since before the attack: all bodies that may be read at once, and half
 * as much again for what is not collected yet.
 */
const MAX_GROWTH_MIB = (1.5 * LIMITS.bodyBytesAtOnce) / 2 ** 20;
/** Too busy, and out of time: said of honest requests too. Every other 5xx is a fault of the server's. */
const HONEST = new Set([503, 504]);

export function expectUnharmed(attack: Attack, outcome: Outcome): void {
  const { before, during, report } = outcome;

  const slowness = Math.min(Math.max(1, before.textMs / TEXT_MS), MAX_SLOWNESS);

  // The attack did not get what it was after.
  expect.soft(report.breaches, 'breaches').toEqual([]);
  const failures = report.statuses.filter(([status]) => status >= 500 && !HONEST.has(status));
  expect.soft(failures, "the attacker's answers of 5xx").toEqual([]);

  // The victim noticed nothing: each of its texts came, the same as ever, and without a stall.
  const [expected] = before.texts;
  expect(expected, 'a text before the attack').toBeTypeOf('string');
  expect.soft(during.errors, "the victim's errors").toEqual([]);
  expect.soft(during.texts.length, 'texts during the attack').toBeGreaterThan(0);
  expect.soft(new Set(during.texts), "the victim's texts").toEqual(new Set([expected]));
  const { maxDelayMs = MAX_DELAY_MS, maxWaitMs = Infinity } = attack;
  const longestStall = before.stallMs + slowness * maxDelayMs;
  expect.soft(during.stallMs, "the victim's longest gap, ms").toBeLessThan(longestStall);
  const longestWait = slowness * maxWaitMs;
  expect.soft(during.waitMs, "the victim's wait for a first token, ms").toBeLessThan(longestWait);

  // A supervisor would have seen it alive.
  expect.soft(during.probeErrors, 'probes of /livez').toEqual([]);
  const longestProbe = before.livezStallMs + slowness * MAX_PROBE_DELAY_MS;
  expect.soft(during.livezStallMs, 'longest probe of /livez, ms').toBeLessThan(longestProbe);

  // Neither process died of it, or grew out of bounds.
  const { swapsModels = false } = attack;
  if (!swapsModels) expect.soft(outcome.engineDied, 'the engine died').toBe(false);
  if (!Number.isNaN(outcome.frontMiB)) {
    expect.soft(outcome.frontMiB, "the front's growth, MiB").toBeLessThan(MAX_GROWTH_MIB);
    const engineMiB = swapsModels ? 0 : outcome.engineMiB;
    expect.soft(engineMiB, "the engine's growth, MiB").toBeLessThan(MAX_GROWTH_MIB);
  }

  // Nothing of it is left.
  expect.soft(outcome.faults, 'afterwards').toEqual([]);
}
