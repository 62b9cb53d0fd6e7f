/**
 * Speculative decoding: tokens per second of one stream on summit with drafts from texts (n-grams)
 * and from a draft model (`--draft-model`, foothill), each against plain decoding, by kind of prompt. Where a JSON
 * schema constrains the answer, what that forces is drafted first, with a draft model that alone.
 * `--mtp` takes drafts from the module of a folder with the same texts in place of the draft model's.
 * `--model smollm2-135m` has that shape and random weights answer the questions of record-prompts.ts,
 * with the answers given there. Of a GGUF file there are drafts from texts alone; its weights are as they would be
 * served, and so are its tokenizer and chat template.
 *
 *   npx tsx scripts/bench/speculative.ts [--model models/summit] [--prompts 100] [--tokens 8] [--threads 2]
 *     [--precision fp32] [--temperature 0] [--seed 1] [--rounds 5] [--clock wall|cpu] [--json]
 *     [--draft-model models/foothill | --mtp] [--streams 1] [--min-gain 1.1]
 *
 * Every prompt comes once, in mixed order, and no two are the same: what a stream can be guessed
 * from is its own text and other answers. With `--streams` as many of a kind run at once. `--min-gain 0` has drafts
 * verified whether they pay or not. For each prompt the
 * engines take turns, in another order every time, so that a noisy machine slows all alike. What counts is the time
 * from the first token to the last of those that run at once, or on a machine with other work the processor time of that (`--clock cpu`,
 * with one thread: idle ones spin). Of rounds, each with new engines that know nothing, the median
 * counts for each prompt. A second plain engine says by how much the machine lies (`again`).
 * `same` says how many texts are those of plain decoding.
 */
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { Engine } from '../../src/engine/engine.ts';
import { type OpenedEngine, openEngine } from '../../src/engine/process/open-engine.ts';
import { grammarVocabulary as vocabularyOf } from '../../src/front/grammars/grammar-vocabulary.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { ggufTextFolder } from '../../src/model/gguf/text/text-folder.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { engineRequest } from '../../test/support/engine-requests.ts';
import { benchKernels, requirePrecision } from './lib/bench-model.ts';
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
    model: { type: 'string', default: SUMMIT },
    mtp: { type: 'boolean', default: false },
    streams: { type: 'string', default: '1' },
    'min-gain': { type: 'string', default: '1.1' },
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
const precision = requirePrecision(values.precision);
const nativeKernels = await benchKernels(precision);
const build = { precision, nativeKernels, cacheDirectory: defaultCacheDirectory() };
const rounds = Number(values.rounds);
const streams = Number(values.streams);
const { clock } = timing(values.clock !== 'wall');
const isTrained = values.model !== 'smollm2-135m';
const model = await prepareModel(
  isTrained
    ? { kind: 'folder', path: values.model }
    : { kind: 'random', config: PRESETS['smollm2-135m'], seed: 1 },
  { ...build, predicts: values.mtp || undefined },
);
const isGguf = values.model.endsWith('.gguf');
const { tokenizer, chatTemplate: template } = await loadTextModel({
  folder: isGguf ? await ggufTextFolder(values.model, build.cacheDirectory) : SUMMIT,
  vocabSize: model.manifest.vocabSize,
});
const grammarVocabulary = await vocabularyOf(tokenizer, model.manifest.vocabSize);
/** By the request's id. */
const given = new Map<number, Int32Array>();

type Speculative = { readonly draftModel: BuiltModel | null; readonly predicts?: boolean } | null;

function open(speculative: Speculative): OpenedEngine {
  const opened = openEngine({
    model,
    maxNumSeqs: streams,
    maxModelLen: 1024,
    maxNumBatchedTokens: 512,
    threads: Number(values.threads),
    kvCacheMemory: 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
    grammarVocabulary,
    speculative: speculative && {
      ...speculative,
      maxTokens: Number(values.tokens),
      minGain: Number(values['min-gain']),
    },
  });
  giveTexts(opened.decoder, given);
  return opened;
}

/** Work of an engine for one kind of prompt, in all rounds. */
interface Tally {
  numTokens: number;
  numSteps: number;
  /** By the first prompt of those that ran at once, of each round. */
  readonly times: Map<number, number[]>;
  numDraftTokens: number;
  numAcceptedTokens: number;
  numSame: number;
  numTexts: number;
}

interface NumberedPrompt {
  readonly id: number;
  readonly prompt: BenchPrompt;
}

class Contender {
  readonly #speculative: Speculative;
  readonly tallies = new Map<string, Tally>();
  #opened: OpenedEngine | undefined;

  constructor(speculative: Speculative) {
    this.#speculative = speculative;
  }

  /** Serves requests at once; returns their tokens. */
  async run(group: readonly NumberedPrompt[], isCounted: boolean): Promise<number[][]> {
    this.#opened ??= open(this.#speculative);
    const { engine } = this.#opened;
    const before = engine.stats;
    const texts = new Map<number, number[]>();
    for (const { id, prompt } of group) {
      texts.set(id, []);
      await this.#add(engine, id, prompt);
    }
    let [firstAt, lastAt] = [0, 0];
    while (engine.hasWork) {
      for (const { id, tokenId, error } of engine.step()) {
        if (error !== undefined) throw new Error(error);
        lastAt = clock();
        firstAt ||= lastAt;
        texts.get(id)?.push(tokenId);
      }
    }
    const [first] = group;
    if (!isCounted || first === undefined) return [...texts.values()];
    const after = engine.stats;
    const tally = this.tally(first.prompt.kind);
    const times = tally.times.get(first.id) ?? [];
    tally.times.set(first.id, [...times, lastAt - firstAt]);
    // First tokens come with the prefill.
    tally.numTokens += [...texts.values()].reduce((sum, text) => sum + text.length - 1, 0);
    tally.numSteps += after.numSteps - before.numSteps - 1;
    tally.numDraftTokens += after.numDraftTokens - before.numDraftTokens;
    tally.numAcceptedTokens += after.numAcceptedTokens - before.numAcceptedTokens;
    return [...texts.values()];
  }

  async #add(engine: Engine, id: number, prompt: BenchPrompt): Promise<void> {
    const { schema, answer } = prompt;
    const grammar = schema === undefined ? null : { ebnf: schemaToEbnf(schema), field: 'bench' };
    if (grammar) await engine.compileGrammar(grammar);
    if (answer !== undefined) {
      const text = tokenizer.encode(answer, { addSpecialTokens: false });
      given.set(id, Int32Array.of(...text, ...tokenizer.eosTokenIds));
    }
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

/** Prompts of a kind that run at once; those that are left over are not run. */
function atOnce(all: readonly NumberedPrompt[]): NumberedPrompt[][] {
  const waiting = new Map<string, NumberedPrompt[]>();
  return all.flatMap((each) => {
    const group = [...(waiting.get(each.prompt.kind) ?? []), each];
    const isFull = group.length === streams;
    waiting.set(each.prompt.kind, isFull ? [] : group);
    return isFull ? [group] : [];
  });
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
if (values.mtp) {
  contenders.set('mtp', new Contender({ draftModel: null, predicts: true }));
} else if (isTrained && !isGguf) {
  const draftModel = await prepareModel({ kind: 'folder', path: values['draft-model'] }, build);
  contenders.set('draft model', new Contender({ draftModel }));
}
const all = [plain, again, ...contenders.values()];

const prompts: readonly BenchPrompt[] = isTrained
  ? speculativePrompts(`${SUMMIT}/eval.jsonl`, Number(values.prompts))
  : recordPrompts().map((prompt) => ({ ...prompt, kind: 'JSON, schema', isRaw: false }));
const numbered = prompts.map((prompt, index) => ({ id: index + 1, prompt }));
for (let round = 0; round < rounds; round++) {
  for (const prompt of numbered.slice(0, WARM_UP)) {
    for (const contender of all) await contender.run([prompt], false);
  }
  for (const [index, group] of atOnce(numbered.slice(WARM_UP)).entries()) {
    const turn = (index + round) % all.length;
    const texts = new Map<Contender, readonly number[][]>();
    for (const contender of [...all.slice(turn), ...all.slice(0, turn)]) {
      texts.set(contender, await contender.run(group, true));
    }
    const wanted = texts.get(plain) ?? [];
    for (const contender of all) {
      const tally = contender.tally(group[0]?.prompt.kind ?? '');
      tally.numTexts += group.length;
      const made = texts.get(contender) ?? [];
      tally.numSame += made.filter((text, at) => text.join() === wanted[at]?.join()).length;
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
    `${machineShape()}, load average ${load.toFixed(1)}; ${values.model} ${precision}, ${streams} at once, ` +
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
