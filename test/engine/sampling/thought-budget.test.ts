import { describe, expect, it } from 'vitest';
import type { EngineRequest, ThoughtBudget } from '../../../src/engine/request.ts';
import { philox4x32 } from '../../../src/engine/sampling/philox.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { ThoughtBudgets } from '../../../src/engine/sampling/thought-budget.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { reasoningFormat } from '../../support/chat-formats.ts';
import { thoughtMarks } from '../../../src/front/chat/thought-marks.ts';
import { CheckedEngine } from '../../support/checked-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from '../../support/fake-decoder.ts';
import { logitsOf } from '../../support/logits-of.ts';
import { RandomDrafts } from '../../support/random-drafts.ts';

/** Marks whole and in parts, thoughts that run into them, and letters: the fake model draws all alike. */
const TOKEN_TEXTS = Array.from({ length: FAKE_VOCAB_SIZE }, (_, id) => {
  const parts = ['</t>', '</t', '<', '/t>', '/', 't', '>', 'x<', '<t>', '', 'y', 'zz'];
  return parts[id] ?? 'abcdefghij'.charAt(id % 10);
});
const plainTokenizer = { specialTexts: [], tokenToId: () => undefined };
const FORMAT = { ...reasoningFormat('think'), open: '<t>', close: '</t>' };
const MARKS = thoughtMarks(FORMAT, TOKEN_TEXTS, plainTokenizer);
if (MARKS === null) throw new Error('there are no marks');

/** Drawn by the id, so that each request is one of its kind. */
function drawn(id: number): EngineRequest & { readonly thought: ThoughtBudget } {
  const [a, b, c, d] = philox4x32([id, 0, 0, 0], [7, 0]);
  const promptTokenIds = Int32Array.from({ length: 1 + (a % 9) }, (_, at) => (b + 31 * at) % 97);
  const maxTokens = 1 + (c % 60);
  const thought = { ...MARKS, maxTokens: d % 40, isOpen: id % 8 !== 0 } as ThoughtBudget;
  return { ...engineRequest({ id, promptTokenIds, maxTokens }), thought };
}

/** The same by its definition, of the text as a whole. */
function expectedOf({ promptTokenIds, maxTokens, thought }: ReturnType<typeof drawn>) {
  const output: number[] = [];
  const texts = () => output.map((id) => TOKEN_TEXTS[id] ?? '');
  let numForced = 0;
  while (output.length < maxTokens) {
    const text = texts().join('');
    const start = thought.isOpen ? 0 : text.startsWith('<t>') ? 3 : -1;
    const isWithin = start >= 0 && !text.slice(start).includes('</t>');
    let offset = 0;
    const offsets = texts().map((each) => (offset += each.length) - each.length);
    const numThought = offsets.filter((at) => at >= start).length;
    const held = Math.max(
      ...[0, 1, 2, 3].filter((n) => text.slice(start).endsWith('</t>'.slice(0, n))),
    );
    const isForced = isWithin && numThought >= thought.maxTokens;
    const forced = thought.closing[held] ?? -1;
    numForced += Number(isForced);
    output.push(isForced ? forced : fakeNextToken([...promptTokenIds, ...output]));
  }
  return { output, numForced };
}

const GROUP = 25;
const SHAPE = { maxNumSeqs: 2, capacity: 96, maxNumBatchedTokens: 24, tokenTexts: TOKEN_TEXTS };

/** In groups: a long line of waiting ones takes the checks long. */
function runAll(requests: readonly EngineRequest[], hasDrafts: boolean, killAfter = Infinity) {
  const runs = Array.from({ length: Math.ceil(requests.length / GROUP) }, (_, group) =>
    runGroup(requests.slice(group * GROUP, (group + 1) * GROUP), hasDrafts, killAfter),
  );
  const sumOf = (name: 'numKills' | 'numDrafts') => runs.reduce((sum, run) => sum + run[name], 0);
  const outputs = new Map(runs.flatMap((run) => [...run.outputs]));
  return { outputs, numKills: sumOf('numKills'), numDrafts: sumOf('numDrafts') };
}

/** @param killAfter steps after which the engine is replaced by a new one, again and again */
function runGroup(requests: readonly EngineRequest[], hasDrafts: boolean, killAfter: number) {
  const outputs = new Map(requests.map(({ id }) => [id, [] as number[]]));
  let [numKills, numDrafts] = [0, 0];
  for (let isOver = false; !isOver; numKills++) {
    const drafts = hasDrafts ? { drafts: new RandomDrafts(3, true) } : {};
    const checked = CheckedEngine.withSlots({ ...SHAPE, ...drafts });
    const left = requests.filter(({ id, maxTokens }) => (outputs.get(id)?.length ?? 0) < maxTokens);
    for (const request of left) {
      checked.engine.add({
        ...request,
        outputTokenIds: Int32Array.from(outputs.get(request.id) ?? []),
      });
    }
    for (let step = 0; step < killAfter && checked.engine.hasWork; step++) checked.step();
    isOver = !checked.engine.hasWork;
    for (const { id } of left) outputs.get(id)?.push(...checked.tokensOf(id));
    numDrafts += checked.numDrafts;
  }
  return { outputs, numKills: numKills - 1, numDrafts };
}

describe('a budget of thoughts', () => {
  it('is kept to the token by 1,000 requests, with and without drafts, with kills', () => {
    const requests = Array.from({ length: 1000 }, (_, id) => drawn(id));
    const expected = requests.map(expectedOf);
    // Most of them are ended.
    expect(expected.filter(({ numForced }) => numForced > 0).length).toBeGreaterThan(400);
    const wanted = new Map(requests.map(({ id }, at) => [id, expected[at]?.output]));
    const plain = runAll(requests, false);
    expect(plain.outputs).toEqual(wanted);
    const drafted = runAll(requests, true);
    expect(drafted.outputs).toEqual(wanted);
    const killed = runAll(requests, false, 53);
    expect(killed.outputs).toEqual(wanted);
    const both = runAll(requests, true, 53);
    expect(both.outputs).toEqual(wanted);
    for (const { numDrafts } of [drafted, both]) expect(numDrafts).toBeGreaterThan(1000);
    for (const { numKills } of [killed, both]) expect(numKills).toBeGreaterThan(50);
  });

  const logits = (best: number) =>
    Float32Array.from({ length: FAKE_VOCAB_SIZE }, (_, id) => Number(id === best));
  const draw = (request: EngineRequest, best: number) => {
    const sampler = new Sampler(FAKE_VOCAB_SIZE, null, new ThoughtBudgets(TOKEN_TEXTS));
    const { sampled } = sampler.sample(logitsOf(new Sequence(request), logits(best)));
    return sampled[0]?.tokens[0];
  };
  const thought = { ...MARKS, maxTokens: 0, isOpen: true } as ThoughtBudget;

  it('gives the token that is forced the log-probability that the model gives it', () => {
    const token = draw(engineRequest({ thought, logprobs: 1 }), 40);
    expect(token).toMatchObject({ tokenId: 0, logprobs: { tokenIds: Int32Array.of(0, 40) } });
  });

  it('comes before bans and a least length', () => {
    const request = { thought, badWords: [Int32Array.of(0)], stopTokenIds: [0], minTokens: 5 };
    expect(draw(engineRequest(request), 40)?.tokenId).toBe(0);
  });

  it('gives way to a grammar', () => {
    const mask = new Int32Array(4);
    mask[1] = 1 << (40 - 32);
    const constraints = {
      constrain: (ready: Parameters<Sampler['sample']>[0]['logits']) => ({ ready, failures: [] }),
      maskOf: () => mask,
    };
    const sampler = new Sampler(FAKE_VOCAB_SIZE, constraints, new ThoughtBudgets(TOKEN_TEXTS));
    const { sampled } = sampler.sample(
      logitsOf(new Sequence(engineRequest({ thought })), logits(50)),
    );
    expect(sampled[0]?.tokens[0]?.tokenId).toBe(40);
  });
});

describe('Harmony', () => {
  const texts = ['', '', '', '', '', 'analysis', 'final', 'assistant', 'w', 'commentary'];
  const special = ['<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|call|>'];
  const [START, CHANNEL, MESSAGE, END] = [0, 1, 2, 3];
  const [ANALYSIS, FINAL, ASSISTANT, WORD, COMMENTARY] = [5, 6, 7, 8, 9];
  const marks = thoughtMarks(reasoningFormat('openai_gptoss'), texts, {
    specialTexts: special,
    tokenToId: (token) => special.indexOf(token),
  });
  const budgets = new ThoughtBudgets(texts);
  const after = (maxTokens: number, tokens: readonly number[]) => {
    const thought = { ...marks, maxTokens, isOpen: false } as ThoughtBudget;
    const outputTokenIds = Int32Array.from(tokens);
    return budgets.forcedToken(new Sequence(engineRequest({ thought, outputTokenIds })), 0);
  };
  const think = [CHANNEL, ANALYSIS, MESSAGE];
  const again = [START, ASSISTANT, ...think];

  it.each<[string, number, number[], number | null]>([
    ['ends a thought', 2, [...think, WORD, WORD], END],
    ['not before', 2, [...think, WORD], null],
    ['leaves the next message to the model', 2, [...think, WORD, WORD, END], null],
    ['counts all thoughts together', 2, [...think, WORD, END, ...again, WORD], END],
    ['no mark is a token of a thought', 2, [...think, WORD, END, ...again], null],
    ['ends another one at once', 1, [...think, WORD, END, ...again], END],
    ['and goes on to the answer', 1, [...think, WORD, END, ...again, END], START],
    ['word by word', 1, [...think, WORD, END, ...again, END, START], ASSISTANT],
    ['to its channel', 1, [...think, WORD, END, ...again, END, START, ASSISTANT, CHANNEL], FINAL],
    ['a call is no thought', 0, [CHANNEL, COMMENTARY, MESSAGE, WORD], null],
  ])('%s', (_name, maxTokens, tokens, forced) => {
    expect(after(maxTokens, tokens)).toBe(forced);
  });
});
