/**
 * A process that streams as the victim does, one text after the other, and asks `/livez` every 25 ms.
 * It is a process of its own so that nothing but the server can hold it up. Each message to it is
 * answered by what it has seen since the one before: `take`, once that has a whole text in it, or
 * `end`, with which it ends, its last stream once done.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { clientsOf } from './clients.ts';
import { CoreWait } from './core-wait.ts';
import type { WatcherMessage } from './watch.ts';

/** Request of the victim: 400 tokens of a story, the same each time. */
const STORY = {
  prompt: 'Once upon a time there was a fox',
  max_tokens: 400,
  ignore_eos: true,
  temperature: 0.8,
  seed: 12,
};
/** Computed each time, whatever the server keeps: a text that is kept tells neither of stalls nor of the machine. */
const COMPUTED = { 'cache-control': 'no-store' };
const PROBE_EVERY_MS = 25;
/** After a refusal the victim does not ask again at once. */
const RETRY_AFTER_MS = 250;
/** The victim's last text may take so long, however harmed the server is. */
const LAST_TEXT_MS = 20_000;

const [url = '', hasKeys, front, engine] = process.argv.slice(2);
const { victim } = clientsOf(url, hasKeys === 'true');
const coreWait = new CoreWait(Number(front), Number(engine));

let seen = nothing();
/** When what is waited for now was asked for, or heard of last. */
let waitingSince = { what: 'nothing' as 'nothing' | 'first' | 'next', at: 0 };
const probes = new Set<number>();
const state = { isEnding: false };

function nothing() {
  return {
    gapMs: 0,
    stallMs: 0,
    waitMs: 0,
    texts: [] as string[],
    textMs: Infinity,
    errors: [] as string[],
    livezMs: 0,
    livezStallMs: 0,
    numProbes: 0,
    probeErrors: [] as string[],
  };
}

function note(now: number): void {
  const ms = now - waitingSince.at;
  if (waitingSince.what === 'first') seen.waitMs = Math.max(seen.waitMs, ms);
  if (waitingSince.what !== 'next') return;
  seen.gapMs = Math.max(seen.gapMs, ms);
  seen.stallMs = Math.max(seen.stallMs, stallOf(waitingSince.at, now, seen.stallMs, true));
}

/** Less what the machine is to blame for; not looked into if it is shorter than `longest` anyway. */
function stallOf(start: number, end: number, longest: number, hasTokens: boolean): number {
  if (end - start <= longest) return 0;
  coreWait.sample();
  return end - start - coreWait.between(start, end, hasTokens);
}

async function stream(): Promise<void> {
  const startedAt = performance.now();
  waitingSince = { what: 'first', at: startedAt };
  try {
    const onText = () => {
      const now = performance.now();
      note(now);
      waitingSince = { what: 'next', at: now };
    };
    const text = await victim.stream('/v1/completions', STORY, onText, COMPUTED);
    seen.texts.push(text);
    seen.textMs = Math.min(seen.textMs, performance.now() - startedAt);
  } catch (error) {
    seen.errors.push(String(error));
    note(performance.now());
    await sleep(RETRY_AFTER_MS);
  }
  waitingSince = { what: 'nothing', at: 0 };
}

async function probe(): Promise<void> {
  const sentAt = performance.now();
  probes.add(sentAt);
  seen.numProbes++;
  try {
    const { status } = await victim.send('/livez');
    if (status !== 200) seen.probeErrors.push(`/livez answered ${status}`);
  } catch (error) {
    seen.probeErrors.push(`/livez did not answer: ${String(error)}`);
  }
  probes.delete(sentAt);
  noteProbe(sentAt, performance.now());
}

function noteProbe(sentAt: number, now: number): void {
  seen.livezMs = Math.max(seen.livezMs, now - sentAt);
  seen.livezStallMs = Math.max(seen.livezStallMs, stallOf(sentAt, now, seen.livezStallMs, false));
}

/** Takes the sight; text still to come was waited for until now. */
function take() {
  const now = performance.now();
  note(now);
  for (const sentAt of probes) noteProbe(sentAt, now);
  const figures = seen;
  seen = nothing();
  return figures;
}

const probing = setInterval(() => {
  coreWait.sample();
  void probe();
}, PROBE_EVERY_MS);
process.on('message', (message: WatcherMessage) => {
  if (message === 'take') return void answerWithText();
  state.isEnding = true;
  setTimeout(() => {
    seen.errors.push(`a text did not end in ${LAST_TEXT_MS} ms`);
    finish();
  }, LAST_TEXT_MS);
});
// The parent's end is this process's end.
process.on('disconnect', () => process.exit());

async function answerWithText(): Promise<void> {
  while (seen.texts.length === 0) await sleep(PROBE_EVERY_MS);
  process.send?.(take());
}

function finish(): void {
  clearInterval(probing);
  process.send?.(take(), () => process.exit());
}

while (!state.isEnding) await stream();
finish();
