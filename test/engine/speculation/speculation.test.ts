import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import { openEngine } from '../../../src/engine/process/open-engine.ts';
import { ChatTemplate } from '../../../src/front/templates/chat-template.ts';
import { grammarVocabulary } from '../../../src/front/grammars/grammar-vocabulary.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { schemaToEbnf } from '../../../src/grammar/schema-ebnf.ts';
import { builtModels } from '../../support/built-models.ts';
import { CheckedEngine } from '../../support/checked-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';
import { RandomDrafts } from '../../support/random-drafts.ts';

const models = await builtModels();
afterAll(() => models.remove());

interface Reference {
  readonly prompts: readonly { readonly ids: number[] }[];
}

/** The model repeats what is in these, or itself. */
const REPETITIVE = [
  'As a JSON array of objects with the keys name and age: Ada (89), Maya (42) and Lena (14).',
  'Give me a JSON object with the keys name, age and city for Emil, who is 22 and lives in Lyon.',
  'Repeat after me: The train to Kyoto leaves at 2:53.',
  'Echo this text: tiger rope puppy tiger rope puppy tiger',
];

async function chats(questions: readonly string[]): Promise<number[][]> {
  const tokenizer = await TextTokenizer.load('models/summit');
  const template = await ChatTemplate.load('models/summit');
  if (template === null) throw new Error('the model has no chat template');
  return questions.map((content) => {
    const chat = template.render([{ role: 'user', content }], { addGenerationPrompt: true });
    return [...tokenizer.encode(chat, { addSpecialTokens: false })];
  });
}

async function prompts(): Promise<number[][]> {
  const file = readFileSync('models/summit/reference.json', 'utf8');
  const reference = JSON.parse(file) as Reference;
  const references = reference.prompts.slice(0, orLong(2, 12));
  return [...references.map(({ ids }) => ids), ...(await chats(REPETITIVE))];
}

const promptTokenIds = await prompts();
const vocabulary = await grammarVocabulary(await TextTokenizer.load('models/summit'), 4096);

type Speculative = 'ngram' | 'draft' | null;

async function run(
  requests: readonly EngineRequest[],
  speculative: Speculative,
  options: Partial<EngineOptions> = {},
) {
  const draftModel = speculative === 'draft' ? await models.get('foothill') : null;
  const { engine, decoder, speculator } = openEngine({
    model: await models.get('summit'),
    maxNumSeqs: 1,
    maxModelLen: 512,
    maxNumBatchedTokens: 256,
    threads: 1,
    kvCacheMemory: 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
    grammarVocabulary: vocabulary,
    speculative: speculative && { draftModel, maxTokens: 6, minGain: 0 },
    ...options,
  });
  const outputs = requests.map((): TokenOutput[] => []);
  for (const { grammar } of requests) if (grammar) await engine.compileGrammar(grammar);
  for (const request of requests) engine.add(request);
  while (engine.hasWork) for (const output of engine.step()) outputs[output.id]?.push(output);
  speculator?.release();
  decoder.release();
  return { outputs, stats: engine.stats };
}

const ways: Record<string, Partial<Omit<EngineRequest, 'sampling'>> & { sampling?: object }> = {
  sampled: { sampling: { temperature: 0.8, topP: 0.95 } },
  greedy: {},
  'with penalties, bans and a least length': {
    sampling: { temperature: 0.6, repetitionPenalty: 1.2, frequencyPenalty: 0.3 },
    badWords: [Int32Array.of(35), Int32Array.of(300, 301)],
    stopTokenIds: [2, 0],
    minTokens: 12,
  },
  'with log-probabilities': { logprobs: 2, stopTokenIds: [2, 0] },
};

function requestsFor(way: string): EngineRequest[] {
  return promptTokenIds.map((ids, id) => {
    const { sampling, ...rest } = ways[way] ?? {};
    return engineRequest({
      id,
      promptTokenIds: Int32Array.from(ids),
      maxTokens: 48,
      ...rest,
      sampling: { ...sampling, seed: BigInt(id) },
    });
  });
}

const plainRuns = new Map<string, ReturnType<typeof run>>();

/** `run` without speculation, once for all requests of the same name. */
function runPlainly(name: string, requests: readonly EngineRequest[]): ReturnType<typeof run> {
  const before = plainRuns.get(name) ?? run(requests, null);
  plainRuns.set(name, before);
  return before;
}

const textOf = (outputs: readonly TokenOutput[]) =>
  outputs.map(({ tokenId, finishReason }) => `${tokenId} ${finishReason}`);

/** That each text, cut off somewhere, goes on as it did. */
async function expectTheSameRest(all: readonly EngineRequest[], source: Speculative) {
  const requests = all.slice(0, orLong(3, all.length));
  const whole = await run(requests, source);
  const resumed = requests.map((request, id) => {
    const tokenIds = (whole.outputs[id] ?? []).slice(0, 5 + id).map(({ tokenId }) => tokenId);
    return { ...request, outputTokenIds: Int32Array.from(tokenIds) };
  });
  const rest = await run(resumed, source);
  for (const [id, outputs] of rest.outputs.entries()) {
    expect(textOf(outputs)).toEqual(textOf(whole.outputs[id] ?? []).slice(5 + id));
  }
}

describe.each(['ngram', 'draft'] as const)('speculation on summit with drafts of %s', (source) => {
  it.each(everyOrLong(2, Object.keys(ways)))('changes no text, %s', async (way) => {
    const requests = requestsFor(way);
    const plain = await runPlainly(`free, ${way}`, requests);
    const speculative = await run(requests, source);
    for (const [id, outputs] of plain.outputs.entries()) {
      const others = speculative.outputs[id] ?? [];
      expect(textOf(others)).toEqual(textOf(outputs));
      for (const [index, { logprobs }] of outputs.entries()) {
        expect(others[index]?.logprobs?.tokenIds).toEqual(logprobs?.tokenIds);
        const differences = logprobs?.logprobs.map((value, at) => {
          return Math.abs(value - (others[index]?.logprobs?.logprobs[at] ?? NaN));
        });
        expect(Math.max(0, ...(differences ?? []))).toBeLessThan(1e-3);
      }
    }
    const { numSteps, numDraftTokens, numAcceptedTokens } = speculative.stats;
    expect(numSteps).toBeLessThan(plain.stats.numSteps);
    expect(numAcceptedTokens).toBeGreaterThan(20);
    expect(numAcceptedTokens).toBeLessThan(numDraftTokens);
  });

  it('changes no text of three streams', async () => {
    const requests = requestsFor('sampled');
    const plain = await runPlainly('free, sampled', requests);
    const options = { maxNumSeqs: 3, prefixCaching: true };
    const { outputs, stats } = await run(requests, source, options);
    expect(outputs.map(textOf)).toEqual(plain.outputs.map(textOf));
    expect(stats.numAcceptedTokens).toBeGreaterThan(0);
  });

  it('goes on after a restart with the same tokens', async () => {
    await expectTheSameRest(requestsFor('sampled'), source);
  });
});

/** JSON that the model knows how to write, some of it after what it was trained on. */
const ANSWERS: readonly (readonly [question: string, answer: object])[] = [
  [
    'Give me a JSON object for Emil, who is 22 and lives in Lyon.',
    { name: 'Emil', age: 22, city: '' },
  ],
  ['As JSON: Ada (89), Maya (42).', [{ name: 'Ada', age: 89 }]],
  [
    'Kira sent a kite to Greta. Give me sender and item as JSON.',
    { sender: '', item: '', day: '' },
  ],
  ['Ruby is 58 and has a turtle called Jasper.', { name: '', pet: { kind: '', name: '' } }],
];

function schemaOf(value: unknown): object {
  if (Array.isArray(value)) return { type: 'array', items: schemaOf(value[0]), maxItems: 3 };
  if (typeof value === 'number') return { type: 'integer', maximum: 999 };
  if (typeof value !== 'object' || value === null) return { type: 'string', maxLength: 12 };
  const properties = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, schemaOf(member)]),
  );
  return { type: 'object', properties, required: Object.keys(value) };
}

/** The same with a grammar each. */
async function constrainedFor(way: string): Promise<EngineRequest[]> {
  const questions = await chats(ANSWERS.map(([question]) => question));
  return questions.map((ids, id) => {
    const { sampling, ...rest } = ways[way] ?? {};
    return engineRequest({
      id,
      promptTokenIds: Int32Array.from(ids),
      maxTokens: 64,
      stopTokenIds: vocabulary.eosTokenIds,
      ...rest,
      grammar: { ebnf: schemaToEbnf(schemaOf(ANSWERS[id]?.[1])), field: 'test' },
      sampling: { ...sampling, seed: BigInt(id) },
    });
  });
}

describe.each(['ngram', 'draft'] as const)('constrained texts with drafts of %s', (source) => {
  it.each(everyOrLong(4, Object.keys(ways)))('stay the same, %s', async (way) => {
    const requests = await constrainedFor(way);
    const plain = await runPlainly(`constrained, ${way}`, requests);
    const speculative = await run(requests, source);
    expect(speculative.outputs.map(textOf)).toEqual(plain.outputs.map(textOf));
    const { numSteps, numForcedAcceptedTokens } = speculative.stats;
    expect(numSteps).toBeLessThan(plain.stats.numSteps);
    expect(numForcedAcceptedTokens).toBeGreaterThan(0);
  });

  it('stay the same beside others, constrained and free', async () => {
    const constrained = await constrainedFor('sampled');
    const free = requestsFor('sampled').slice(0, 3);
    const requests = [...constrained, ...free].map((request, id) => ({ ...request, id }));
    const plain = await runPlainly('both', requests);
    const options = { maxNumSeqs: 2, prefixCaching: true };
    const { outputs, stats } = await run(requests, source, options);
    expect(outputs.map(textOf)).toEqual(plain.outputs.map(textOf));
    expect(stats.numAcceptedTokens).toBeGreaterThan(0);
  });

  it('go on after a restart with the same tokens', async () => {
    await expectTheSameRest(await constrainedFor('sampled'), source);
  });
});

it('refuses a draft model with another vocabulary', async () => {
  const model = await models.get('summit');
  const manifest = { ...model.manifest, vocabSize: 100 };
  const options = { speculative: { draftModel: { ...model, manifest }, maxTokens: 4 } };
  await expect(run([], null, options)).rejects.toThrow(
    'the draft model has 100 tokens and the model 4096',
  );
});

describe('whether to speculate', () => {
  const shape = { maxNumSeqs: 6, capacity: 128, maxNumBatchedTokens: 64, minGain: 1.1 };

  class WrongDrafts extends RandomDrafts {
    override draft(...args: Parameters<RandomDrafts['draft']>) {
      const draft = super.draft(...args);
      return { ...draft, tokenIds: draft.tokenIds.map(() => 96) };
    }
  }

  it.each([true, false])('is left be where drafts do not come true (free: %s)', (isFree) => {
    const checked = CheckedEngine.withSlots({ ...shape, drafts: new WrongDrafts(1, isFree) });
    checked.engine.add(engineRequest({ maxTokens: 120 }));
    while (checked.engine.hasWork) checked.step();
    const { numDrafts } = checked.engine.stats;
    expect(numDrafts).toBeGreaterThan(0);
    expect(numDrafts).toBeLessThan(30);
  });

  it('is tried again with drafts that cost something, ever more rarely', () => {
    const drafts = new WrongDrafts(1, false);
    const checked = CheckedEngine.withSlots({ ...shape, capacity: 1024, drafts });
    checked.engine.add(engineRequest({ maxTokens: 1000 }));
    const tries: number[] = [];
    for (let step = 0; step < 900; step++) {
      const before = checked.engine.stats.numDrafts;
      checked.step();
      if (checked.engine.stats.numDrafts > before) tries.push(step);
    }
    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(20);
    const rests = tries.slice(1).map((step, index) => step - (tries[index] ?? 0));
    expect(Math.max(...rests)).toBeGreaterThan(150);
  });

  it('depends on the number of streams', () => {
    const checked = CheckedEngine.withSlots({
      ...shape,
      drafts: new RandomDrafts(1, true),
      minGain: 0,
    });
    for (let id = 1; id <= 5; id++) checked.engine.add(engineRequest({ id, maxTokens: id * 20 }));
    while (checked.scheduler.running.length !== 4) {
      expect(checked.engine.stats.numDrafts).toBe(0);
      checked.step();
    }
    while (checked.engine.hasWork) checked.step();
    expect(checked.engine.stats.numDrafts).toBeGreaterThan(0);
  });

  it('is not for sequences with a grammar', () => {
    const checked = CheckedEngine.withSlots({
      ...shape,
      drafts: new RandomDrafts(1, true),
      minGain: 0,
    });
    const grammar = { ebnf: 'root ::= "a"', field: 'grammar' };
    checked.engine.add(engineRequest({ maxTokens: 20, grammar }));
    while (checked.engine.hasWork) checked.step();
    expect(checked.engine.stats.numDrafts).toBe(0);
  });
});
