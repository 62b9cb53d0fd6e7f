/**
 * Speculative decoding: tokens per second of one stream on summit with drafts from texts (n-grams)
 * and from a draft model (foothill), each against plain decoding, by kind of prompt.
 *
 *   npx tsx scripts/bench/speculative.ts [--prompts 100] [--tokens 8] [--threads 2]
 *     [--precision fp32] [--temperature 0] [--seed 1] [--clock wall|cpu] [--json]
 *
 * Every prompt comes once, in mixed order, and no two are the same: what a stream can be guessed
 * from is its own text and other answers. For each prompt the engines take turns, in another order
 * every time, so that a noisy machine slows all alike. What counts is the time from a request's
 * first token to its last, or on a machine with other work the processor time of that (`--clock cpu`,
 * with one thread: idle ones spin). `same` says how many texts are those of plain decoding.
 */
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type OpenedEngine, openEngine } from '../../src/engine/open-engine.ts';
import { ChatTemplate } from '../../src/front/chat-template.ts';
import { TextTokenizer } from '../../src/front/tokenizer.ts';
import { prepareModel } from '../../src/model/build.ts';
import { defaultCacheDirectory } from '../../src/model/cache-directory.ts';
import { type BuiltModel, PRECISIONS } from '../../src/model/manifest.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { machineShape } from './lib/machine.ts';
import { type BenchPrompt, speculativePrompts } from './lib/speculative-prompts.ts';
import { printTable } from './lib/table.ts';

const MODEL = 'models/summit';
const DRAFT_MODEL = 'models/foothill';
const MAX_TOKENS = 160;
/** Prompts that are not counted: the engines learn what their runs cost. */
const WARM_UP = 10;

const { values } = parseArgs({
  options: {
    prompts: { type: 'string', default: '100' },
    tokens: { type: 'string', default: '8' },
    threads: { type: 'string', default: String(availableParallelism()) },
    precision: { type: 'string', default: 'fp32' },
    temperature: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    clock: { type: 'string', default: 'wall' },
    json: { type: 'boolean', default: false },
  },
});
const precision = PRECISIONS.find((name) => name === values.precision);
if (!precision) throw new Error(`--precision is one of ${PRECISIONS.join(', ')}`);
const build = { precision, cacheDirectory: defaultCacheDirectory() };
const model = await prepareModel({ kind: 'folder', path: MODEL }, build);
const draftModel = await prepareModel({ kind: 'folder', path: DRAFT_MODEL }, build);
const tokenizer = await TextTokenizer.load(MODEL);
const template = await ChatTemplate.load(MODEL);

function open(speculative: { draftModel: BuiltModel | null } | null): OpenedEngine {
  return openEngine({
    model,
    maxNumSeqs: 1,
    maxModelLen: 1024,
    maxNumBatchedTokens: 512,
    threads: Number(values.threads),
    kvCacheMemory: 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
    batching: 'continuous',
    speculative: speculative && { ...speculative, maxTokens: Number(values.tokens) },
  });
}

/** What an engine did for one kind of prompt. */
interface Tally {
  numTokens: number;
  numSteps: number;
  ms: number;
  numDraftTokens: number;
  numAcceptedTokens: number;
  numSame: number;
  numTexts: number;
}

class Contender {
  readonly opened: OpenedEngine;
  readonly tallies = new Map<string, Tally>();

  constructor(opened: OpenedEngine) {
    this.opened = opened;
  }

  /** Serves one request; returns its tokens. */
  run(id: number, prompt: BenchPrompt): number[] {
    const { engine } = this.opened;
    const before = engine.stats;
    const tokenIds: number[] = [];
    let [firstAt, lastAt] = [0, 0];
    engine.add(
      engineRequest({
        id,
        promptTokenIds: encode(prompt),
        maxTokens: MAX_TOKENS,
        stopTokenIds: prompt.isRaw ? [] : tokenizer.eosTokenIds,
        sampling: { temperature: Number(values.temperature), topP: 0.9, seed: BigInt(values.seed) },
      }),
    );
    while (engine.hasWork) {
      for (const { tokenId, error } of engine.step()) {
        if (error !== undefined) throw new Error(error);
        lastAt = clockMs();
        if (tokenIds.length === 0) firstAt = lastAt;
        tokenIds.push(tokenId);
      }
    }
    const after = engine.stats;
    const tally = this.tally(prompt.kind);
    tally.ms += lastAt - firstAt;
    // The first token comes with the prefill.
    tally.numTokens += tokenIds.length - 1;
    tally.numSteps += after.numSteps - before.numSteps - 1;
    tally.numDraftTokens += after.numDraftTokens - before.numDraftTokens;
    tally.numAcceptedTokens += after.numAcceptedTokens - before.numAcceptedTokens;
    return tokenIds;
  }

  tally(kind: string): Tally {
    let tally = this.tallies.get(kind);
    if (!tally) {
      const texts = { numSame: 0, numTexts: 0 };
      const drafts = { numDraftTokens: 0, numAcceptedTokens: 0 };
      tally = { numTokens: 0, numSteps: 0, ms: 0, ...drafts, ...texts };
      this.tallies.set(kind, tally);
    }
    return tally;
  }

  tokensPerSecond(kind: string): number {
    const { numTokens, ms } = this.tally(kind);
    return (numTokens * 1000) / ms;
  }
}

function clockMs(): number {
  if (values.clock === 'wall') return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function encode({ text, system, isRaw }: BenchPrompt): Int32Array {
  if (isRaw || template === null) return tokenizer.encode(text, { addSpecialTokens: true });
  const user = { role: 'user', content: text };
  const messages = system === undefined ? [user] : [{ role: 'system', content: system }, user];
  const chat = template.render(messages, { addGenerationPrompt: true });
  return tokenizer.encode(chat, { addSpecialTokens: false });
}

const plain = new Contender(open(null));
const ngram = new Contender(open({ draftModel: null }));
const draft = new Contender(open({ draftModel }));
const contenders = [plain, ngram, draft];

const prompts = speculativePrompts(`${MODEL}/eval.jsonl`, Number(values.prompts));
for (const [index, prompt] of prompts.entries()) {
  if (index === WARM_UP) for (const { tallies } of contenders) tallies.clear();
  const turn = index % contenders.length;
  const order = [...contenders.slice(turn), ...contenders.slice(0, turn)];
  const texts = new Map(order.map((contender) => [contender, contender.run(index + 1, prompt)]));
  for (const contender of contenders) {
    const tally = contender.tally(prompt.kind);
    tally.numTexts++;
    if (texts.get(contender)?.join() === texts.get(plain)?.join()) tally.numSame++;
  }
}

const kinds = [...plain.tallies.keys()].sort();
const load = loadavg()[0] ?? 0;
if (values.json) {
  const results = Object.entries({ plain, ngram, draft }).map(([name, { tallies }]) => ({
    name,
    kinds: Object.fromEntries(tallies),
  }));
  console.log(JSON.stringify({ machine: machineShape(), load, ...values, results }));
} else {
  console.log(
    `${machineShape()}, load average ${load.toFixed(1)}; summit ${precision}, ` +
      `${values.threads} threads, drafts of up to ${values.tokens} tokens, ` +
      `temperature ${values.temperature}, by ${values.clock} clock\n`,
  );
  const header = ['accepted', 'tokens/step', 'same'];
  printTable(
    ['prompts', 'tokens', 'plain tok/s', 'n-gram', ...header, 'draft model', ...header],
    kinds.map((kind) => [
      kind,
      String(plain.tally(kind).numTokens),
      plain.tokensPerSecond(kind).toFixed(0),
      ...[ngram, draft].flatMap((contender) => {
        const tally = contender.tally(kind);
        return [
          `${(contender.tokensPerSecond(kind) / plain.tokensPerSecond(kind)).toFixed(2)}x`,
          `${((100 * tally.numAcceptedTokens) / Math.max(1, tally.numDraftTokens)).toFixed(0)}%`,
          (tally.numTokens / tally.numSteps).toFixed(2),
          `${tally.numSame}/${tally.numTexts}`,
        ];
      }),
    ]),
  );
}
for (const { opened } of contenders) {
  opened.speculator?.release();
  opened.decoder.release();
}
