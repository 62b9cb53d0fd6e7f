import { setImmediate } from 'node:timers/promises';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import { Engine } from '../../src/engine/engine.ts';
import { GrammarDrafts } from '../../src/engine/speculation/grammar-drafts.ts';
import { GrammarMatchers } from '../../src/engine/constraints/grammar-matchers.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { NgramDrafts } from '../../src/engine/speculation/ngram-drafts.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import { Speculator } from '../../src/engine/speculation/speculator.ts';
import type { Decoder, StepPlan, StepResult } from '../../src/engine/step.ts';
import { VOCABULARY } from './grammar-vocabulary.ts';

const NUM_SLOTS = 16;
const CAPACITY = 2048;
const MAX_DRAFT_TOKENS = 6;

const flat = () => new Float32Array(VOCABULARY.vocabSize);

/** A model that finds every token equally likely: all sense in its texts is the grammar's. */
class FlatDecoder implements Decoder {
  /** Steps so far that computed each sequence. */
  readonly stepsOf = new Map<number, number>();

  execute({ segments }: StepPlan): StepResult {
    for (const { sequence } of segments) {
      this.stepsOf.set(sequence.id, (this.stepsOf.get(sequence.id) ?? 0) + 1);
    }
    const logits = segments.map((segment) => {
      return { segment, logits: Array.from({ length: segment.numLogits }, flat) };
    });
    const decode = segments.filter(({ numTokens }) => numTokens === 1);
    const spans = decode.map(({ start }) => ({ start, length: 1 }));
    const run = { decode: spans, prefill: [], verify: [], ms: 1 };
    return { logits, failures: [], timedRuns: spans.length > 0 ? [run] : [] };
  }

  release(): void {}
}

export interface RandomTextOptions {
  /** See GrammarMatchersOptions. */
  readonly timeoutMs?: number;
  readonly maskMs?: number;
  readonly speculates?: boolean;
}

/** An engine over a model without preferences, with grammars. */
export class RandomTextEngine {
  readonly decoder = new FlatDecoder();
  readonly grammars: GrammarMatchers;
  readonly engine: Engine;
  readonly outputs = new Map<number, TokenOutput[]>();

  constructor({ speculates = false, ...times }: RandomTextOptions = {}) {
    const maxDraftTokens = speculates ? MAX_DRAFT_TOKENS : 0;
    this.grammars = new GrammarMatchers({
      vocabulary: VOCABULARY,
      maxDraftTokens,
      ...times,
    });
    const kvCache = new SlotCache({
      numSlots: NUM_SLOTS,
      capacity: CAPACITY,
      prefixCaching: false,
    });
    const costs = new CostModel();
    const { decoder, grammars } = this;
    const sampler = new Sampler(VOCABULARY.vocabSize, grammars);
    const source = new NgramDrafts();
    const speculator = speculates
      ? new Speculator({
          source,
          constrainedSource: new GrammarDrafts(grammars, source),
          kvCache,
          costs,
          maxTokens: MAX_DRAFT_TOKENS,
          maxNumBatchedTokens: 512,
          minGain: 0,
        })
      : null;
    const scheduler = new Scheduler(
      kvCache,
      costs,
      {
        maxNumSeqs: NUM_SLOTS,
        maxNumBatchedTokens: 512,
        targetItlMs: null,
      },
      speculator,
    );
    this.engine = new Engine({ scheduler, kvCache, decoder, sampler, costs, grammars, speculator });
  }

  /** As the engine process does it: the grammar first. */
  async add(request: EngineRequest): Promise<void> {
    if (request.grammar) await this.engine.compileGrammar(request.grammar);
    this.engine.add(request);
  }

  /** One iteration, then what came in meanwhile. */
  async step(): Promise<void> {
    for (const output of this.engine.step()) {
      this.outputs.set(output.id, [...(this.outputs.get(output.id) ?? []), output]);
    }
    await setImmediate();
  }

  async runToEnd(): Promise<void> {
    while (this.engine.hasWork) await this.step();
  }

  tokensOf(id: number): number[] {
    return (this.outputs.get(id) ?? []).map(({ tokenId }) => tokenId);
  }
}
