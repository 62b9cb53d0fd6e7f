/**
 * kill -9 of one of a model's instances under 16 streams, each followed by others: tokens per second before
 * the kill, until the streams that it hit have ended, and after, and whether all texts are those of an
 * undisturbed run.
 *
 *   npm run build && npx tsx scripts/bench/faults/instances.ts [--model models/summit] [--instances 2]
 *     [--streams 16] [--tokens 300] [--json]
 */
import { parseArgs } from 'node:util';
import { stream } from '../../../test/support/http-client.ts';
import { childrenOf } from '../../../test/support/processes.ts';
import { startServer } from '../../../test/support/server-process.ts';
import { machineShape } from '../lib/machine.ts';
import { printTable } from '../lib/table.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'models/summit' },
    instances: { type: 'string', default: '2' },
    streams: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '300' },
    json: { type: 'boolean', default: false },
  },
});
const numInstances = Number(values.instances);
const numStreams = Number(values.streams);
const numTokens = Number(values.tokens);

/** Texts of each stream's lane, one after the other; the kill falls into the second. */
const ROUNDS = 4;

const bodyOf = (round: number, lane: number) => ({
  prompt: `Once upon a time, number ${round * numStreams + lane} went out`,
  max_tokens: numTokens,
  ignore_eos: true,
  ...(lane % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: round * numStreams + lane }),
});

interface Run {
  /** [lane][round]; null where the stream broke off. */
  readonly texts: readonly (readonly (string | null)[])[];
  /** When each piece of text arrived, a token mostly, in order. */
  readonly arrivals: readonly number[];
  readonly killedAt: number;
  /** When the last of the streams ended that were running at the kill. */
  readonly survivedAt: number;
  readonly longestGapMs: number;
}

/** @param kills whether an instance is killed in the middle of the second texts */
async function run(url: string, pid: number | undefined, kills: boolean): Promise<Run> {
  const arrivals: number[] = [];
  let [killedAt, survivedAt, longestGapMs] = [Infinity, 0, 0];
  const kill = (): void => {
    const [victim] = childrenOf(pid);
    if (victim === undefined) throw new Error('there is no engine process');
    killedAt = performance.now();
    process.kill(victim, 'SIGKILL');
  };
  const lane = async (at: number): Promise<(string | null)[]> => {
    const texts: (string | null)[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedAt = performance.now();
      let last: number | undefined;
      const result = await stream(`${url}/v1/completions`, bodyOf(round, at), () => {
        const now = performance.now();
        longestGapMs = Math.max(longestGapMs, last === undefined ? 0 : now - last);
        last = now;
        arrivals.push(now);
        const isMiddle = arrivals.length >= 1.5 * numStreams * numTokens;
        if (kills && killedAt === Infinity && isMiddle) kill();
      });
      if (startedAt < killedAt) survivedAt = Math.max(survivedAt, performance.now());
      texts.push(result.done && result.finishReason === 'length' ? result.text : null);
    }
    return texts;
  };
  const texts = await Promise.all(Array.from({ length: numStreams }, (_, at) => lane(at)));
  return { texts, arrivals, killedAt, survivedAt, longestGapMs };
}

function rate(arrivals: readonly number[], from: number, to: number): number {
  const inside = arrivals.filter((at) => at >= from && at < to);
  const end = Math.min(to, inside.at(-1) ?? from);
  return end <= from ? 0 : (1000 * inside.length) / (end - from);
}

const server = await startServer([
  `--model=bench=${values.model}`,
  `--instances=${numInstances}`,
  `--max-num-seqs=${numStreams}`,
  NO_DRAFTS,
]);
try {
  await run(server.url, server.child.pid, false);
  const plain = await run(server.url, server.child.pid, false);
  const hit = await run(server.url, server.child.pid, true);
  const [begin = 0] = hit.arrivals;
  const same = hit.texts.map((texts, lane) =>
    texts.map((text, round) => text !== null && text === plain.texts[lane]?.[round]),
  );
  const result = {
    instances: numInstances,
    streams: numStreams,
    tokens: numTokens,
    tokensPerSecond: {
      undisturbed: rate(plain.arrivals, plain.arrivals[0] ?? 0, Infinity),
      before: rate(hit.arrivals, begin, hit.killedAt),
      during: rate(hit.arrivals, hit.killedAt, hit.survivedAt),
      after: rate(hit.arrivals, hit.survivedAt, Infinity),
    },
    secondsDuring: (hit.survivedAt - hit.killedAt) / 1000,
    longestGapMs: { undisturbed: plain.longestGapMs, killed: hit.longestGapMs },
    identicalOfHit: same.filter(([, second]) => second).length,
    identical: same.flat().filter(Boolean).length,
  };
  if (values.json) {
    console.log(JSON.stringify({ machine: machineShape(), ...result }));
  } else {
    const { tokensPerSecond, longestGapMs } = result;
    console.log(`${machineShape()}; ${values.model}, ${numInstances} instances\n`);
    printTable(
      ['', 'tokens/s'],
      Object.entries(tokensPerSecond).map(([when, tokens]) => [when, tokens.toFixed(0)]),
    );
    console.log(
      `\n${result.identicalOfHit} of ${numStreams} texts that were running are identical, of all ` +
        `${result.identical} of ${numStreams * ROUNDS}; longest gap ` +
        `${longestGapMs.killed.toFixed(0)} ms, ${longestGapMs.undisturbed.toFixed(0)} ms undisturbed`,
    );
  }
} finally {
  await server.stop();
}
