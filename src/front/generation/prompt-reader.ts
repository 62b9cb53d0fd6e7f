/** Reads a model's output after prompts: as sequences that end after their prefill, scheduled with others. */
import type { Readout } from '../../engine/request.ts';
import type { Caller } from '../caller.ts';
import { EngineError } from '../engine-process/errors.ts';
import { QueueFullError } from '../queue/admission.ts';
import { heardByMany } from '../heard-by-many.ts';
import type { ServiceClass } from '../service-classes/service-class.ts';
import { type GrantRules, grantTo } from './client-grant.ts';
import type { GenerationRequest, Generator } from './generation.ts';
import { GREEDY } from './greedy-sampling.ts';

/** Service class of a request that asks for none. */
export type ClassOfCaller = (caller: Pick<Caller, 'client' | 'isOfBatch'>) => ServiceClass;

export interface PromptReaderOptions {
  readonly generator: Generator;
  readonly rules: GrantRules;
  readonly classOf: ClassOfCaller;
  /** Prompts of one request that run or wait at once. */
  readonly parallel: number;
}

export interface ReadRequest {
  /** At least one token each. */
  readonly prompts: readonly Int32Array[];
  readonly readout: Readout;
  /** Lower goes first. */
  readonly priority: number;
}

/** Shorter ones fill no block of the prefix cache. */
const MIN_SHARED_TOKENS = 16;

export class PromptReader {
  readonly #options: PromptReaderOptions;

  constructor(options: PromptReaderOptions) {
    this.#options = options;
  }

  /**
   * A request takes as many places in the queue as it gets without a refusal, one at least, and reads
   * its prompts one after the other in each. Prompts that begin alike wait for the first one: then they
   * find its beginning in the prefix cache.
   * @returns what was read after each prompt, in their order
   * @throws QueueFullError, ShuttingDownError before anything is computed; EngineError; the signal's
   *   reason on abort
   */
  async read(request: ReadRequest, caller: Caller): Promise<Float32Array[]> {
    const { prompts } = request;
    const numTokens = prompts.reduce((sum, { length }) => sum + length, 0);
    const settle = await caller.meter?.charge(numTokens);
    const ending = new AbortController();
    const signal = heardByMany(caller.signal, ending.signal);
    try {
      const values = await this.#readAll(request, caller, signal);
      await settle?.(numTokens);
      return values;
    } catch (error) {
      await settle?.(0);
      throw error;
    } finally {
      ending.abort(new Error('the request ended'));
    }
  }

  async #readAll(
    { prompts, readout, priority }: ReadRequest,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<Float32Array[]> {
    const { rules, classOf } = this.#options;
    const shared = {
      ...NOT_GENERATED,
      ...grantTo(caller.client, { priority }, rules, classOf(caller)),
      readout,
    };
    const values: Float32Array[] = [];
    const pending = [...prompts.entries()].toReversed();
    const readNext = async (isNextPart: boolean): Promise<boolean> => {
      const next = pending.pop();
      if (next === undefined) return false;
      const [index, promptTokenIds] = next;
      try {
        values[index] = await this.#readOne({ ...shared, promptTokenIds, isNextPart }, signal);
        return true;
      } catch (error) {
        pending.push(next);
        throw error;
      }
    };
    const first = readNext(false);
    const lead = async (): Promise<void> => {
      for (let isMore = await first; isMore; isMore = await readNext(true));
    };
    const help = async (): Promise<void> => {
      if (beginAlike(prompts)) await first;
      try {
        for (let isMore = await readNext(false); isMore; isMore = await readNext(true));
      } catch (error) {
        // Others are waiting too: then fewer of these run at once.
        if (!(error instanceof QueueFullError)) throw error;
      }
    };
    const numHelpers = Math.min(prompts.length, this.#options.parallel) - 1;
    await Promise.all([lead(), ...Array.from({ length: Math.max(0, numHelpers) }, help)]);
    return values;
  }

  async #readOne(request: GenerationRequest, signal: AbortSignal): Promise<Float32Array> {
    for await (const { values } of this.#options.generator.generate(request, signal)) {
      if (values) return values;
    }
    throw new EngineError('the engine ended without what it was to read');
  }
}

const NOT_GENERATED = {
  maxTokens: 0,
  minTokens: 0,
  stop: [],
  includeStopStrInOutput: false,
  stopTokenIds: [],
  ignoreEos: true,
  skipSpecialTokens: false,
  sampling: GREEDY,
  badWords: [],
  logprobs: null,
  promptLogprobs: null,
} satisfies Omit<GenerationRequest, 'promptTokenIds'>;

function beginAlike([first, second]: readonly Int32Array[]): boolean {
  if (!first || !second || Math.min(first.length, second.length) < MIN_SHARED_TOKENS) return false;
  return first.subarray(0, MIN_SHARED_TOKENS).every((id, at) => id === second[at]);
}
