import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { Tensor } from '../../ort/tensor.ts';
import { coversDraw } from '../sampling/candidates.ts';
import { type BusTraffic, DeviceRun } from './device-run.ts';
import { isGreedy } from '../sampling/greedy.ts';
import { logitsAreUsedWhole } from '../sampling/logit-processors.ts';
import type { LogitsRow } from '../sampling/sampler.ts';
import type { Sequence } from '../sequence.ts';

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
 * What a step takes from logits in device memory, so that kilobytes cross the bus and not
 * rows x vocabulary: each greedy row's likeliest token, or else the likeliest tokens of each row and
 * the weight of them all together. Rows that need every logit get theirs alone.
 */
export class SamplingHead {
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
   * Reads the first rows of the logits. What it returns is the caller's own.
   * @param sequences whose logits each row has; null where nobody's are wanted
   * @throws DeviceError when a run fails, as when the device is lost
   */
  read(sequences: readonly (Sequence | null)[]): LogitsRow[] {
    const rows: LogitsRow[] = [];
    const whole: number[] = [];
    const sampled = sequences.map((sequence, row) => {
      if (sequence === null || !logitsAreUsedWhole(sequence)) return sequence;
      whole.push(row);
      return null;
    });
    const draws = sampled.some((sequence) => sequence && !isGreedy(sequence.request.sampling));
    if (draws) this.#readCandidates(sampled, rows, whole);
    else if (sampled.some((sequence) => sequence !== null)) this.#readBest(sampled, rows);
    this.#readWhole(sequences, whole, rows);
    return rows;
  }

  /** Reads the first rows of the logits, all of them one sequence's. */
  readWhole(sequence: Sequence, numRows: number): LogitsRow[] {
    const rows: LogitsRow[] = [];
    const sequences = Array.from({ length: numRows }, () => sequence);
    this.#readWhole(sequences, [...sequences.keys()], rows);
    return rows;
  }

  #readBest(sequences: readonly (Sequence | null)[], rows: LogitsRow[]): void {
    const { run, tokenIds, logits } = this.#bestRun(sequences.length);
    run.run();
    for (const [row, sequence] of sequences.entries()) {
      if (sequence === null) continue;
      const candidates = { tokenIds: toInt32(tokenIds.subarray(row, row + 1)), restWeight: 0 };
      rows.push({ sequence, logits: logits.slice(row, row + 1), candidates });
    }
  }

  /** @param whole gets the rows whose candidates are not enough */
  #readCandidates(
    sequences: readonly (Sequence | null)[],
    rows: LogitsRow[],
    whole: number[],
  ): void {
    const { run, tokenIds, logits, totals } = this.#candidatesRun(sequences.length);
    const inverses = sequences.map((sequence) =>
      sequence && !isGreedy(sequence.request.sampling)
        ? 1 / sequence.request.sampling.temperature
        : 1,
    );
    const shape = [sequences.length, 1];
    run.upload('inverse_temperature', 'float', shape, Float32Array.from(inverses));
    run.run();
    const count = this.#numCandidates;
    for (const [row, sequence] of sequences.entries()) {
      if (sequence === null) continue;
      const best = logits.subarray(row * count, (row + 1) * count);
      const total = totals[row] ?? 0;
      const { sampling } = sequence.request;
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
      rows.push({
        sequence,
        logits: Float32Array.from(order, (index) => best[index] ?? -Infinity),
        candidates: { tokenIds: Int32Array.from(order, (index) => ids[index] ?? 0), restWeight },
      });
    }
  }

  #readWhole(
    sequences: readonly (Sequence | null)[],
    whole: readonly number[],
    rows: LogitsRow[],
  ): void {
    if (whole.length === 0) return;
    const size = this.#vocabSize;
    const logits = new Float32Array(whole.length * size);
    this.#rowsRun.upload('rows', 'int64', [whole.length], BigInt64Array.from(whole, BigInt));
    this.#rowsRun.download('picked', 'float', [whole.length, size], logits);
    this.#rowsRun.run();
    for (const [index, row] of whole.entries()) {
      const sequence = sequences[row];
      if (!sequence) continue;
      rows.push({ sequence, logits: logits.subarray(index * size, (index + 1) * size) });
    }
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

/** Each row's likeliest token and its logit. */
function bestGraph(vocabSize: number): Uint8Array {
  const graph = logitsGraph('best', vocabSize);
  const axes = graph.initializer('axes', 'int64', [1], BigInt64Array.of(-1n));
  graph.node('best_ids', 'ArgMax', ['logits'], { attributes: { axis: -1n, keepdims: 0n } });
  graph.node('best_logits', 'ReduceMax', ['logits', axes], { attributes: { keepdims: 0n } });
  graph.output('best_ids', 'int64', ['rows']);
  graph.output('best_logits', 'float', ['rows']);
  return graph.toBytes();
}

/**
 * Each row's likeliest tokens, best first, their logits, and the sum over the vocabulary of
 * exp((logit - best logit) / temperature): the log-sum-exp, less the best logit's part.
 */
function candidatesGraph(vocabSize: number, numCandidates: number): Uint8Array {
  const graph = logitsGraph('candidates', vocabSize);
  graph.input('inverse_temperature', 'float', ['rows', 1]);
  const count = graph.initializer('count', 'int64', [1], BigInt64Array.of(BigInt(numCandidates)));
  const axes = graph.initializer('axes', 'int64', [1], BigInt64Array.of(-1n));
  graph.node('candidates', 'TopK', ['logits', count], {
    outputs: ['candidate_logits', 'candidate_ids'],
    attributes: { axis: -1n, largest: 1n, sorted: 1n },
  });
  const best = graph.node('best', 'ReduceMax', ['logits', axes], { attributes: { keepdims: 1n } });
  const below = graph.node('below', 'Sub', ['logits', best]);
  const scaled = graph.node('scaled', 'Mul', [below, 'inverse_temperature']);
  const weights = graph.node('weights', 'Exp', [scaled]);
  graph.node('total_weight', 'ReduceSum', [weights, axes], { attributes: { keepdims: 1n } });
  graph.output('candidate_logits', 'float', ['rows', numCandidates]);
  graph.output('candidate_ids', 'int64', ['rows', numCandidates]);
  graph.output('total_weight', 'float', ['rows', 1]);
  return graph.toBytes();
}

/** The whole logits of some rows. */
function rowsGraph(vocabSize: number): Uint8Array {
  const graph = logitsGraph('rows', vocabSize);
  graph.input('rows', 'int64', ['wanted']);
  graph.node('picked', 'Gather', ['logits', 'rows']);
  graph.output('picked', 'float', ['wanted', vocabSize]);
  return graph.toBytes();
}

function logitsGraph(name: string, vocabSize: number): GraphBuilder {
  const graph = new GraphBuilder(name);
  graph.input('logits', 'float', ['rows', vocabSize]);
  return graph;
}

function toInt32(values: BigInt64Array): Int32Array {
  return Int32Array.from(values, Number);
}
