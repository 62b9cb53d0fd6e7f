import { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { Tensor } from '../../ort/tensor.ts';
import { coversDraw } from '../sampling/candidates.ts';
import { type BusTraffic, DeviceRun } from './device-run.ts';
import { isGreedy } from '../sampling/greedy.ts';
import { logitsAreUsedWhole } from '../logits-use.ts';
import type { Segment, SegmentLogits } from '../step.ts';
import { bestGraph, candidatesGraph, rowsGraph } from './top-k-graphs.ts';

/** Tokens of a row that are brought to the host, the likeliest ones. */
const MAX_CANDIDATES = 64;

type Outputs = Readonly<Record<'best' | 'candidates' | 'rows', Session>>;

/** Bound to the first rows of the logits. */
interface BestRun {
  readonly run: DeviceRun;
  readonly tokenIds: BigInt64Array<ArrayBuffer>;
  readonly logits: Float32Array<ArrayBuffer>;
}

interface CandidatesRun extends BestRun {
  readonly totals: Float32Array<ArrayBuffer>;
}

/**
 * Reduces logits in device memory, so that kilobytes cross the bus instead of rows x vocabulary.
 * A greedy row gives its likeliest token, other rows their likeliest tokens and the total weight of
 * the vocabulary. Only rows that need every logit are copied whole.
 */
export class DeviceTopK {
  readonly #sessions: Outputs;
  readonly #logits: Tensor;
  readonly #vocabSize: number;
  readonly #numCandidates: number;
  readonly #traffic: BusTraffic;
  readonly #views: Tensor[] = [];
  /** By number of rows. */
  readonly #bestRuns = new Map<number, BestRun>();
  readonly #candidatesRuns = new Map<number, CandidatesRun>();
  readonly #rowsRun: DeviceRun;

  /** @param logits [rows, vocab] in device memory, where runs leave them */
  constructor(logits: Tensor, options: SessionOptions, traffic: BusTraffic) {
    const [numRows = 0, vocabSize = 0] = logits.shape;
    this.#logits = logits;
    this.#vocabSize = vocabSize;
    this.#numCandidates = Math.min(MAX_CANDIDATES, vocabSize);
    this.#traffic = traffic;
    this.#sessions = {
      best: new Session(bestGraph(vocabSize), options),
      candidates: new Session(candidatesGraph(vocabSize, this.#numCandidates), options),
      rows: new Session(rowsGraph(vocabSize), options),
    };
    this.#rowsRun = this.#open('rows', numRows);
  }

  /**
   * Reads the first rows of the logits: as many for each segment as it wants. What it returns is the
   * caller's own.
   * @param segments null for a row that is not wanted
   * @throws DeviceError when a run fails, as when the device is lost
   */
  read(segments: readonly (Segment | null)[]): SegmentLogits[] {
    if (segments.some((segment) => (segment?.numLogits ?? 1) > 1))
      return this.#readDrafts(segments);
    const results: SegmentLogits[] = [];
    const whole: number[] = [];
    const sampled = segments.map((segment, row) => {
      if (segment === null || !logitsAreUsedWhole(segment.sequence)) return segment;
      whole.push(row);
      return null;
    });
    const draws = sampled.some((segment) => segment !== null && drawsRandomly(segment));
    if (draws) this.#readCandidates(sampled, results, whole);
    else if (sampled.some((segment) => segment !== null)) this.#readBest(sampled, results);
    for (const [index, logits] of this.#readWhole(whole).entries()) {
      const segment = segments[whole[index] ?? -1];
      if (segment) results.push({ segment, logits: [logits] });
    }
    return results;
  }

  /** Every logit of every row: a draft token is verified by the logits before it. */
  #readDrafts(segments: readonly (Segment | null)[]): SegmentLogits[] {
    const counts = segments.map((segment) => segment?.numLogits ?? 1);
    const numRows = counts.reduce((sum, count) => sum + count, 0);
    const rows = this.#readWhole(Array.from({ length: numRows }, (_, row) => row));
    return segments.flatMap((segment, index) => {
      const logits = rows.splice(0, counts[index]);
      return segment === null ? [] : [{ segment, logits }];
    });
  }

  #readBest(segments: readonly (Segment | null)[], results: SegmentLogits[]): void {
    const { run, tokenIds, logits } = this.#bestRun(segments.length);
    run.run();
    for (const [row, segment] of segments.entries()) {
      if (segment === null) continue;
      const candidates = { tokenIds: toInt32(tokenIds.subarray(row, row + 1)), restWeight: 0 };
      results.push({ segment, logits: [logits.slice(row, row + 1)], candidates });
    }
  }

  /** @param whole gets the rows whose candidates are not enough */
  #readCandidates(
    segments: readonly (Segment | null)[],
    results: SegmentLogits[],
    whole: number[],
  ): void {
    const { run, tokenIds, logits, totals } = this.#candidatesRun(segments.length);
    const inverses = segments.map((segment) =>
      segment && drawsRandomly(segment) ? 1 / segment.sequence.request.sampling.temperature : 1,
    );
    const shape = [segments.length, 1];
    run.upload('inverse_temperature', 'float', shape, Float32Array.from(inverses));
    run.run();
    const count = this.#numCandidates;
    for (const [row, segment] of segments.entries()) {
      if (segment === null) continue;
      const best = logits.subarray(row * count, (row + 1) * count);
      const total = totals[row] ?? 0;
      const { sampling } = segment.sequence.request;
      const weights = best.map((logit) =>
        Math.exp((logit - (best[0] ?? 0)) * (inverses[row] ?? 1)),
      );
      if (!isGreedy(sampling) && !coversDraw(weights, total, sampling, this.#vocabSize)) {
        whole.push(row);
        continue;
      }
      const ids = toInt32(tokenIds.subarray(row * count, (row + 1) * count));
      // Among equal logits the sampler goes by the order of ids.
      const order = [...ids.keys()].sort((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0));
      const restWeight = total - weights.reduce((sum, weight) => sum + weight, 0);
      results.push({
        segment,
        logits: [Float32Array.from(order, (index) => best[index] ?? -Infinity)],
        candidates: { tokenIds: Int32Array.from(order, (index) => ids[index] ?? 0), restWeight },
      });
    }
  }

  #readWhole(rows: readonly number[]): Float32Array[] {
    if (rows.length === 0) return [];
    const size = this.#vocabSize;
    const logits = new Float32Array(rows.length * size);
    this.#rowsRun.upload('rows', 'int64', [rows.length], BigInt64Array.from(rows, BigInt));
    this.#rowsRun.download('picked', 'float', [rows.length, size], logits);
    this.#rowsRun.run();
    return rows.map((_, index) => logits.subarray(index * size, (index + 1) * size));
  }

  #bestRun(numRows: number): BestRun {
    let best = this.#bestRuns.get(numRows);
    if (!best) {
      const run = this.#open('best', numRows);
      best = { run, tokenIds: new BigInt64Array(numRows), logits: new Float32Array(numRows) };
      run.download('best_ids', 'int64', [numRows], best.tokenIds);
      run.download('best_logits', 'float', [numRows], best.logits);
      this.#bestRuns.set(numRows, best);
    }
    return best;
  }

  #candidatesRun(numRows: number): CandidatesRun {
    let candidates = this.#candidatesRuns.get(numRows);
    if (!candidates) {
      const run = this.#open('candidates', numRows);
      const shape = [numRows, this.#numCandidates];
      const count = numRows * this.#numCandidates;
      const tokenIds = new BigInt64Array(count);
      const logits = new Float32Array(count);
      const totals = new Float32Array(numRows);
      run.download('candidate_ids', 'int64', shape, tokenIds);
      run.download('candidate_logits', 'float', shape, logits);
      run.download('total_weight', 'float', [numRows, 1], totals);
      candidates = { run, tokenIds, logits, totals };
      this.#candidatesRuns.set(numRows, candidates);
    }
    return candidates;
  }

  #open(output: keyof Outputs, numRows: number): DeviceRun {
    const run = new DeviceRun(this.#sessions[output], this.#traffic);
    const view = Tensor.overStartOf('float', [numRows, this.#vocabSize], this.#logits);
    this.#views.push(view);
    run.bindInput('logits', view);
    return run;
  }

  release(): void {
    for (const { run } of [...this.#bestRuns.values(), ...this.#candidatesRuns.values()]) {
      run.release();
    }
    this.#rowsRun.release();
    for (const view of this.#views) view.release();
    for (const session of Object.values(this.#sessions)) session.release();
  }
}

function toInt32(values: BigInt64Array): Int32Array {
  return Int32Array.from(values, Number);
}

function drawsRandomly({ sequence }: Segment): boolean {
  return !isGreedy(sequence.request.sampling);
}
