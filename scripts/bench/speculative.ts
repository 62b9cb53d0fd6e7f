/**
 * Speculative decoding: tokens per second of one stream on summit with drafts from texts (n-grams)
 * and from a draft model (`--draft-model`, foothill), each against plain decoding, by kind of prompt. Where a JSON
 * schema constrains the answer, what that forces is drafted first, with a draft model that alone.
 * `--model smollm2-135m` has that shape and random weights answer the questions of record-prompts.ts,
 * with the answers given there.
 *
 *   npx tsx scripts/bench/speculative.ts [--model summit] [--prompts 100] [--tokens 8] [--threads 2]
 *     [--precision fp32] [--temperature 0] [--seed 1] [--rounds 5] [--clock wall|cpu] [--json]
 *     [--draft-model models/foothill]
 *
 * Every prompt comes once, in mixed order, and no two are the same: what a stream can be guessed
 * from is its own text and other answers. For each prompt the engines take turns, in another order
 * every time, so that a noisy machine slows all alike. What counts is the time from a request's
 * first token to its last, or on a machine with other work the processor time of that (`--clock cpu`,
 * with one thread: idle ones spin). Of rounds, each with new engines that know nothing, the median
 * counts for each prompt. A second plain engine says by how much the machine lies (`again`).
 * `same` says how many texts are those of plain decoding.
 */
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type OpenedEngine, openEngine } from '../../src/engine/process/open-engine.ts';
import { ChatTemplate } from '../../src/front/templates/chat-template.ts';
import { grammarVocabulary as vocabularyOf } from '../../src/front/grammars/grammar-vocabulary.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { type BuiltModel, PRECISIONS } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { timing } from './lib/process-time.ts';
import { giveTexts } from './lib/given-texts.ts';
import { machineShape } from './lib/machine.ts';
import { recordPrompts } from './lib/record-prompts.ts';
import { type BenchPrompt, speculativePrompts } from './lib/speculative-prompts.ts';
import { median, printTable } from './lib/table.ts';

const SUMMIT = 'models/summit';
const MAX_TOKENS = 160;
/** Prompts that are not counted: the engines learn what their runs cost. */
const WARM_UP = 5;

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'summit' },
    'draft-model': { type: 'string', default: 'models/foothill' },
    prompts: { type: 'string', default: '100' },
    tokens: { type: 'string', default: '8' },
    threads: { type: 'string', default: String(availableParallelism()) },
    precision: { type: 'string', default: 'fp32' },
    temperature: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
    clock: { type: 'string', default: 'wall' },
    json: { type: 'boolean', default: false },
  },
});
const precision = PRECISIONS.find((name) => name === values.precision);
if (!precision) throw new Error(`--precision is one of ${PRECISIONS.join(', ')}`);
const build = { precision, cacheDirectory: defaultCacheDirectory() };
const rounds = Number(values.rounds);
const { clock } = timing(values.clock !== 'wall');
const isSummit = values.model === 'summit';
const model = await prepareModel(
  isSummit
    ? { kind: 'folder', path: SUMMIT }
    : { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 },
  build,
);
const tokenizer = await TextTokenizer.load(SUMMIT);
const template = await ChatTemplate.load(SUMMIT);
const grammarVocabulary = await vocabularyOf(tokenizer, model.manifest.vocabSize);
/** By the request's id. */
const given = new Map<number, Int32Array>();

function open(speculative: { draftModel: BuiltModel | null } | null): OpenedEngine {
  const opened = openEngine({
    model,
    maxNumSeqs: 1,
    maxModelLen: 1024,
    maxNumBatchedTokens: 512,
    threads: Number(values.threads),
    kvCacheMemory: 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
    grammarVocabulary,
    speculative: speculative && { ...speculative, maxTokens: Number(values.tokens) },
  });
  giveTexts(opened.decoder, given);
  return opened;
}

/** Work of an engine for one kind of prompt, in all rounds. */
interface Tally {
  numTokens: number;
  numSteps: number;
  /** By prompt, of each round. */
  readonly times: Map<number, number[]>;
  numDraftTokens: number;
  numAcceptedTokens: number;
  numSame: number;
  numTexts: number;
}

class Contender {
  readonly #speculative: Parameters<typeof open>[0];
  readonly tallies = new Map<string, Tally>();
  #opened: OpenedEngine | undefined;

  constructor(speculative: Parameters<typeof open>[0]) {
    this.#speculative = speculative;
  }

  /** Serves one request; returns its tokens. */
  async run(id: number, prompt: BenchPrompt, isCounted: boolean): Promise<number[]> {
    this.#opened ??= open(this.#speculative);
    const { engine } = this.#opened;
    const { schema, answer } = prompt;
    const grammar = schema === undefined ? null : { ebnf: schemaToEbnf(schema), field: 'bench' };
    if (grammar) await engine.compileGrammar(grammar);
    if (answer !== undefined) {
      const text = tokenizer.encode(answer, { addSpecialTokens: false });
      given.set(id, Int32Array.of(...text, ...tokenizer.eosTokenIds));
    }
    const before = engine.stats;
    const tokenIds: number[] = [];
    let [firstAt, lastAt] = [0, 0];
    engine.add(
      engineRequest({
        id,
        promptTokenIds: encode(prompt),
        maxTokens: MAX_TOKENS,
        stopTokenIds: prompt.isRaw ? [] : tokenizer.eosTokenIds,
        grammar,
        sampling: { temperature: Number(values.temperature), topP: 0.9, seed: BigInt(values.seed) },
      }),
    );
    while (engine.hasWork) {
      for (const { tokenId, error } of engine.step()) {
        if (error !== undefined) throw new Error(error);
        lastAt = clock();
        if (tokenIds.length === 0) firstAt = lastAt;
        tokenIds.push(tokenId);
      }
    }
    if (!isCounted) return tokenIds;
    const after = engine.stats;
    const tally = this.tally(prompt.kind);
    const times = tally.times.get(id) ?? [];
    tally.times.set(id, [...times, lastAt - firstAt]);
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
      tally = { numTokens: 0, numSteps: 0, times: new Map(), ...drafts, ...texts };
      this.tallies.set(kind, tally);
    }
    return tally;
  }

  tokensPerSecond(kind: string): number {
    const { numTokens, times } = this.tally(kind);
    const ms = [...times.values()].reduce((sum, ofPrompt) => sum + median(ofPrompt), 0);
    return (numTokens * 1000) / rounds / ms;
  }

  /** The next request is served by a new engine. */
  release(): void {
    this.#opened?.speculator?.release();
    this.#opened?.decoder.release();
    this.#opened = undefined;
  }
}

/** To plain decoding. */
function ratio(contender: Contender, kind: string): string {
  return `${(contender.tokensPerSecond(kind) / plain.tokensPerSecond(kind)).toFixed(2)}x`;
}

function encode({ text, system, isRaw }: BenchPrompt): Int32Array {
  if (isRaw || template === null) return tokenizer.encode(text, { addSpecialTokens: true });
  const user = { role: 'user', content: text };
  const messages = system === undefined ? [user] : [{ role: 'system', content: system }, user];
  const chat = template.render(messages, { addGenerationPrompt: true });
  return tokenizer.encode(chat, { addSpecialTokens: false });
}

const plain = new Contender(null);
const again = new Contender(null);
const contenders = new Map([['n-gram', new Contender({ draftModel: null })]]);
if (isSummit) {
  const draftModel = await prepareModel({ kind: 'folder', path: values['draft-model'] }, build);
  contenders.set('draft model', new Contender({ draftModel }));
}
const all = [plain, again, ...contenders.values()];

const prompts: readonly BenchPrompt[] = isSummit
  ? speculativePrompts(`${SUMMIT}/eval.jsonl`, Number(values.prompts))
  : recordPrompts().map((prompt) => ({ ...prompt, kind: 'JSON, schema', isRaw: false }));
for (let round = 0; round < rounds; round++) {
  for (const [index, prompt] of prompts.entries()) {
    const isCounted = index >= WARM_UP;
    const turn = (index + round) % all.length;
    const texts = new Map<Contender, readonly number[]>();
    for (const contender of [...all.slice(turn), ...all.slice(0, turn)]) {
      texts.set(contender, await contender.run(index + 1, prompt, isCounted));
    }
    for (const contender of isCounted ? all : []) {
      const tally = contender.tally(prompt.kind);
      tally.numTexts++;
      if (texts.get(contender)?.join() === texts.get(plain)?.join()) tally.numSame++;
    }
  }
  for (const contender of all) contender.release();
}

const kinds = [...plain.tallies.keys()].sort();
const load = loadavg()[0] ?? 0;
if (values.json) {
  const named = [...contenders, ['plain', plain] as const, ['again', again] as const];
  const results = named.map(([name, contender]) => ({
    name,
    kinds: kinds.map((kind) => {
      const { times: _times, ...counts } = contender.tally(kind);
      return { kind, ...counts, tokensPerSecond: contender.tokensPerSecond(kind) };
    }),
  }));
  console.log(JSON.stringify({ machine: machineShape(), load, ...values, results }));
} else {
  console.log(
    `${machineShape()}, load average ${load.toFixed(1)}; ${values.model} ${precision}, ` +
      `${values.threads} threads, drafts of up to ${values.tokens} tokens, ` +
      `temperature ${values.temperature}, by ${values.clock} clock\n`,
  );
  const header = ['accepted', 'tokens/step', 'same'];
  printTable(
    [
      'prompts',
      'tokens',
      'plain tok/s',
      'again',
      ...[...contenders.keys()].flatMap((name) => [name, ...header]),
    ],
    kinds.map((kind) => [
      kind,
      String(plain.tally(kind).numTokens / rounds),
      plain.tokensPerSecond(kind).toFixed(0),
      ratio(again, kind),
      ...[...contenders.values()].flatMap((contender) => {
        const tally = contender.tally(kind);
        return [
          ratio(contender, kind),
          `${((100 * tally.numAcceptedTokens) / Math.max(1, tally.numDraftTokens)).toFixed(0)}%`,
          (tally.numTokens / tally.numSteps).toFixed(2),
          `${tally.numSame}/${tally.numTexts}`,
        ];
      }),
    ]),
  );
}
process.exit(0);
