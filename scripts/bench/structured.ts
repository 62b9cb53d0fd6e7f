/**
 * Cost of grammars: step times of an engine whose rows are all free, half constrained, and all
 * constrained by a JSON schema, in turns in one process; then a count of texts generated at
 * temperature 1 over twenty schemas that parse and validate.
 *
 *   npx tsx scripts/bench/structured.ts [--model summit|smollm2-135m] [--rows 16] [--rounds 8]
 *     [--generations 1000] [--json]
 */
import { setImmediate } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { openEngine } from '../../src/engine/process/open-engine.ts';
import type { EngineRequest } from '../../src/engine/request.ts';
import { grammarVocabulary } from '../../src/front/grammars/grammar-vocabulary.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { JSON_SCHEMAS } from '../../test/support/json-schemas.ts';
import { GREEDY } from '../../test/support/engine-requests.ts';
import { machineShape } from './lib/machine.ts';
import { median, printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'summit' },
    rows: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '8' },
    generations: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
  },
});
const numRows = Number(values.rows);

/** A text that never ends before its limit: what is measured is the middle of texts. */
const LONG_SCHEMA = {
  type: 'array',
  items: {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer' } },
    required: ['name', 'age'],
  },
  minItems: 100,
};
const WARM_UP_STEPS = 10;
const STEPS = 60;

const tokenizer = await TextTokenizer.load('models/summit');
const preset = PRESETS[values.model === 'summit' ? 'tiny' : 'smollm2-135m'];
const model = await prepareModel(
  values.model === 'summit'
    ? { kind: 'folder', path: 'models/summit' }
    : { kind: 'random', config: preset, seed: 1 },
  { precision: 'fp32', cacheDirectory: defaultCacheDirectory() },
);
const vocabulary = await grammarVocabulary(tokenizer, model.manifest.vocabSize);
const { engine } = openEngine({
  model,
  maxNumSeqs: numRows,
  maxModelLen: 2048,
  maxNumBatchedTokens: 512,
  threads: 0,
  kvCacheMemory: 2 ** 31,
  prefixCaching: false,
  targetItlMs: null,
  grammarVocabulary: vocabulary,
  durableKv: false,
});

const prompt = '<|im_start|>user\nGive me a JSON object.<|im_end|>\n<|im_start|>assistant\n';
const promptTokenIds = tokenizer.encode(prompt, { addSpecialTokens: false });
let lastId = 0;

async function add(ebnf: string | null, maxTokens: number): Promise<number> {
  const id = ++lastId;
  if (ebnf !== null) await engine.compileGrammar({ ebnf, field: 'bench' });
  const request: EngineRequest = {
    id,
    promptTokenIds,
    outputTokenIds: new Int32Array(),
    maxTokens,
    minTokens: 0,
    stopTokenIds: ebnf === null ? [] : tokenizer.eosTokenIds,
    priority: 0,
    tier: 0,
    targetItlMs: null,
    arrivalMs: id,
    cacheSalt: '',
    sampling: { ...GREEDY, temperature: 1, seed: BigInt(id) },
    grammar: ebnf === null ? null : { ebnf, field: 'bench' },
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
  };
  engine.add(request);
  return id;
}

interface StepTimes {
  /** Median time of a step. */
  readonly stepMs: number;
  /** Rows that sampled a token in a step, as a share of the constrained ones. */
  readonly constrainedShare: number;
  /** The same of free rows. */
  readonly freeShare: number;
}

/** Steps of a full batch with this many constrained sequences. */
async function measure(numConstrained: number, ebnf: string): Promise<StepTimes> {
  const constrained = new Set<number>();
  const free = new Set<number>();
  for (let row = 0; row < numRows; row++) {
    const isConstrained = row < numConstrained;
    const id = await add(isConstrained ? ebnf : null, 1000);
    (isConstrained ? constrained : free).add(id);
  }
  const times: number[] = [];
  let numConstrainedTokens = 0;
  let numFreeTokens = 0;
  for (let step = 0; step < WARM_UP_STEPS + STEPS; step++) {
    const start = performance.now();
    const outputs = engine.step();
    const elapsed = performance.now() - start;
    await setImmediate();
    if (step < WARM_UP_STEPS) continue;
    times.push(elapsed);
    for (const { id } of outputs) {
      if (constrained.has(id)) numConstrainedTokens++;
      else numFreeTokens++;
    }
  }
  for (const id of [...constrained, ...free]) engine.abort(id);
  await setImmediate();
  return {
    stepMs: median(times),
    constrainedShare: numConstrainedTokens / STEPS / Math.max(1, numConstrained),
    freeShare: numFreeTokens / STEPS / Math.max(1, numRows - numConstrained),
  };
}

async function compareSteps() {
  const ebnf = schemaToEbnf(LONG_SCHEMA);
  await engine.compileGrammar({ ebnf, field: 'bench' });
  const counts = [...new Set([0, numRows >> 1, numRows])];
  const measured = new Map<number, StepTimes[]>(counts.map((count) => [count, []]));
  const ratios = new Map<number, number[]>(counts.map((count) => [count, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    let freeMs = 0;
    for (const count of counts) {
      const times = await measure(count, ebnf);
      if (count === 0) freeMs = times.stepMs;
      measured.get(count)?.push(times);
      ratios.get(count)?.push(times.stepMs / freeMs);
    }
  }
  return counts.map((count) => {
    const all = measured.get(count) ?? [];
    const mid = (pick: (times: StepTimes) => number) => median(all.map(pick));
    return {
      constrained: count,
      free: numRows - count,
      stepMs: mid(({ stepMs }) => stepMs),
      ratio: median(ratios.get(count) ?? []),
      constrainedShare: mid(({ constrainedShare }) => constrainedShare),
      freeShare: mid(({ freeShare }) => freeShare),
    };
  });
}

interface Generated {
  readonly name: string;
  readonly check: z.ZodType;
  readonly tokenIds: number[];
}

async function countValid() {
  const schemas = Object.entries(JSON_SCHEMAS).map(([name, schema]) => ({
    name,
    ebnf: schemaToEbnf(schema),
    check: z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema),
  }));
  const texts = new Map<number, Generated>();
  const cut: string[] = [];
  const invalid: string[] = [];
  let numValid = 0;
  let numAdded = 0;
  const total = Number(values.generations);
  while (numAdded < total || engine.hasWork) {
    while (numAdded < total && texts.size < numRows) {
      const schema = schemas[numAdded++ % schemas.length];
      if (schema === undefined) break;
      const { name, ebnf, check } = schema;
      texts.set(await add(ebnf, 1000), { name, check, tokenIds: [] });
    }
    for (const { id, tokenId, finishReason } of engine.step()) {
      const text = texts.get(id);
      if (text === undefined) continue;
      text.tokenIds.push(tokenId);
      if (finishReason === null) continue;
      texts.delete(id);
      if (finishReason !== 'stop') {
        cut.push(text.name);
        continue;
      }
      const json = tokenizer.decode(text.tokenIds, { skipSpecialTokens: true });
      if (isValid(text.check, json)) numValid++;
      else invalid.push(`${text.name}: ${json}`);
    }
    await setImmediate();
  }
  return { total, numValid, cut, invalid };
}

function isValid(check: z.ZodType, text: string): boolean {
  try {
    return check.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}

const steps = await compareSteps();
const valid = await countValid();
if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), model: values.model, steps, valid }));
} else {
  console.log(`${values.model}, fp32, ${numRows} rows; ${machineShape()}\n`);
  printTable(
    ['constrained', 'free', 'step ms', 'ratio', 'tokens/step, constrained', 'free'],
    steps.map((row) => [
      String(row.constrained),
      String(row.free),
      row.stepMs.toFixed(2),
      row.ratio.toFixed(3),
      row.constrained === 0 ? '-' : row.constrainedShare.toFixed(3),
      row.free === 0 ? '-' : row.freeShare.toFixed(3),
    ]),
  );
  const { numValid, total, cut, invalid } = valid;
  console.log(
    `\n${numValid} of ${total} texts parse and validate; ${cut.length} reached the limit`,
  );
  for (const text of invalid) console.log(`invalid: ${text}`);
}
process.exit(valid.invalid.length === 0 && valid.cut.length === 0 ? 0 : 1);
