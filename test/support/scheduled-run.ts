import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import { Scheduler, type SchedulerOptions } from '../../src/engine/scheduling/scheduler.ts';
import type { Drafter } from '../../src/engine/drafter.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import type { Segment } from '../../src/engine/step.ts';
import { engineRequest } from './engine-requests.ts';

/** Token that every sequence goes on with. */
export const NEXT_TOKEN = 7;

export interface ScheduledRunOptions extends Partial<SchedulerOptions> {
  /** Memory, in pages of 16 positions; plenty if left out. */
  readonly maxPages?: number;
  readonly prefixCaching?: boolean;
  readonly drafter?: Drafter;
  readonly costs?: CostModel;
}

/** The scheduler over a KV cache in slots, and a model that always says the same. */
export class ScheduledRun {
  readonly scheduler: Scheduler;
  readonly kvCache: SlotCache;
  /** Outputs of the last step. */
  outputs: readonly TokenOutput[] = [];

  constructor(given: ScheduledRunOptions = {}) {
    const { maxPages, prefixCaching = false, drafter, costs = new CostModel(), ...options } = given;
    const { maxNumSeqs = 4 } = options;
    this.kvCache = new SlotCache({
      numSlots: prefixCaching ? 2 * maxNumSeqs : maxNumSeqs,
      capacity: 1024,
      prefixCaching,
      ...(maxPages === undefined ? {} : { maxPages }),
    });
    const all = {
      maxNumSeqs,
      maxNumBatchedTokens: 512,
      targetItlMs: null,
      ...options,
    };
    this.scheduler = new Scheduler(this.kvCache, costs, all, drafter);
  }

  /** Adds requests that come one second after the other, by their ids. */
  add(id: number, numPromptTokens: number, fields: Partial<EngineRequest> = {}): void {
    const promptTokenIds = Int32Array.from({ length: numPromptTokens }, (_, at) => 100 * id + at);
    const request = { id, promptTokenIds, arrivalMs: 1000 * id, maxTokens: 500, ...fields };
    this.scheduler.add(new Sequence(engineRequest(request)));
  }

  /** One step. @returns what it computes of each sequence, by their ids */
  step(tokensOf: (segment: Segment) => readonly number[] = () => [NEXT_TOKEN]) {
    const plan = this.scheduler.plan();
    const segments = plan?.segments ?? [];
    const computed = Object.fromEntries(
      segments.map((segment) => [segment.sequence.id, describeSegment(segment)]),
    );
    const sampled = segments
      .filter(({ numLogits }) => numLogits > 0)
      .map((segment) => {
        return { segment, tokens: tokensOf(segment).map((tokenId) => ({ tokenId })) };
      });
    this.outputs = plan ? this.scheduler.commit(plan, { sampled, failures: [] }) : [];
    return computed;
  }

  get running(): number[] {
    return this.scheduler.running.map(({ id }) => id);
  }

  get waiting(): number[] {
    return this.scheduler.waiting.map(({ id }) => id);
  }
}

function describeSegment({ sequence, start, numTokens, draftTokenIds }: Segment): string {
  const numOwn = numTokens - draftTokenIds.length;
  if (draftTokenIds.length > 0) return `token ${start} and ${draftTokenIds.length} drafted`;
  return start >= sequence.numPromptTokens && numOwn === 1
    ? `token ${start}`
    : `tokens ${start} to ${start + numOwn - 1}`;
}
