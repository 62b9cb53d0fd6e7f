import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import { Engine } from '../../src/engine/engine.ts';
import { SlotCache } from '../../src/engine/kv-cache/slot-cache.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import type { DraftSource } from '../../src/engine/speculation/draft-source.ts';
import { Speculator } from '../../src/engine/speculation/speculator.ts';
import { StateCache } from '../../src/engine/states/state-cache.ts';
import { StatefulDecoder } from '../../src/engine/states/stateful-decoder.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { HYBRID_FIXTURES } from './family-text.ts';

const MAX_SEQS = 4;
const CAPACITY = 128;
const MAX_DRAFT_TOKENS = 6;

export interface HybridShape {
  readonly maxNumBatchedTokens: number;
  /** Tokens between snapshots. */
  readonly spacing: number;
  /** Rows beyond those of the sequences that may run. */
  readonly spareRows: number;
  /** Memory, in pages of 16 positions. */
  readonly maxPages: number;
  /** Verified wherever that can be; none if left out. */
  readonly drafts?: DraftSource | null;
}

/** A tiny model with more positions. @returns a folder, made in `directory` */
export async function longHybrid(
  name: string,
  directory: string,
  fixtures = HYBRID_FIXTURES,
  maxPositions = 1024,
): Promise<string> {
  const tiny = join(fixtures, name);
  const folder = join(directory, `long-${name}`);
  await mkdir(folder, { recursive: true });
  await copyFile(join(tiny, 'model.safetensors'), join(folder, 'model.safetensors'));
  const config = await readFile(join(tiny, 'config.json'), 'utf8');
  const long = config.replace(
    /(?<="(max_position_embeddings|model_max_length)": )\d+/,
    String(maxPositions),
  );
  await writeFile(join(folder, 'config.json'), long);
  return folder;
}

/** An engine over a model whose layers have states, with snapshots closer together than a server takes them. */
export class HybridEngine {
  readonly engine: Engine;
  /** Runs of several prompts, padded to the longest. */
  numJoinedRuns = 0;
  readonly #decoder: CpuDecoder;

  constructor(model: BuiltModel, shape: HybridShape) {
    const { maxNumBatchedTokens, spacing, spareRows, maxPages, drafts: source = null } = shape;
    const numSlots = 2 * MAX_SEQS;
    const numRows = 2 * MAX_SEQS + spareRows;
    const states = new StateCache({ numRows, spacing, minLength: 16 });
    const kvCache = new SlotCache({ numSlots, capacity: CAPACITY, maxPages, states });
    const costs = new CostModel();
    const options = { maxNumSeqs: MAX_SEQS, maxNumBatchedTokens, targetItlMs: null };
    this.#decoder = new CpuDecoder(model, {
      numSlots,
      maxModelLen: CAPACITY,
      slots: kvCache,
      costs,
      states,
      maxDraftTokens: MAX_DRAFT_TOKENS,
      session: { intraOpThreads: 1 },
    });
    const speculator =
      source &&
      new Speculator({
        source,
        kvCache,
        costs,
        states,
        maxTokens: MAX_DRAFT_TOKENS,
        maxNumBatchedTokens,
        minGain: 0,
      });
    const stateful = new StatefulDecoder(this.#decoder, states);
    this.engine = new Engine({
      scheduler: new Scheduler(kvCache, costs, options, speculator),
      speculator,
      kvCache,
      decoder: {
        execute: (plan) => {
          const result = stateful.execute(plan);
          const joined = result.timedRuns.filter(({ prefill }) => prefill.length > 1);
          this.numJoinedRuns += joined.length;
          return result;
        },
        release: () => {},
      },
      sampler: new Sampler(model.manifest.vocabSize),
      costs,
    });
  }

  /** Everything that a request gets, alone. */
  textOf(request: EngineRequest): TokenOutput[] {
    this.engine.add(request);
    const outputs: TokenOutput[] = [];
    while (this.engine.hasWork) outputs.push(...this.engine.step());
    return outputs;
  }

  release(): void {
    this.#decoder.release();
  }
}
