import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { Tensor } from '../../ort/tensor.ts';
import { type BusTraffic, DeviceRun } from './device-run.ts';

/** Element types of KV caches. */
type CopiedType = 'float' | 'float16' | 'int8';

/** Tensors of one memory, seen as rows: [rows, width] each. */
export interface RowTensors {
  readonly tensors: readonly Tensor[];
  readonly numRows: number;
}

/**
 * Copies rows between tensors in device memory by a graph of its own, since ONNX Runtime's C API
 * has no copy within a device. ScatterND writes in place where its output is bound to its input's
 * memory, so nothing but the rows is moved, and nothing but their numbers crosses the bus.
 */
export class PositionCopier {
  readonly #session: Session;
  readonly #traffic: BusTraffic;
  readonly #type: CopiedType;
  readonly #numTensors: number;
  readonly #width: number;

  /** @param numTensors copied in one run @param width elements of a row */
  constructor(
    type: CopiedType,
    numTensors: number,
    width: number,
    options: SessionOptions,
    traffic: BusTraffic,
  ) {
    this.#type = type;
    this.#numTensors = numTensors;
    this.#width = width;
    this.#traffic = traffic;
    this.#session = new Session(copyGraph(type, numTensors, width), options);
  }

  /** Prepares copies between two memories, which may be the same one. */
  between(source: RowTensors, target: RowTensors): PositionCopy {
    const run = new DeviceRun(this.#session, this.#traffic);
    const views: Tensor[] = [];
    const view = ({ tensors, numRows }: RowTensors, index: number): Tensor => {
      const whole = tensors[index];
      if (!whole) throw new RangeError(`there is no tensor ${index}`);
      const rows = Tensor.overStartOf(this.#type, [numRows, this.#width], whole);
      views.push(rows);
      return rows;
    };
    for (let index = 0; index < this.#numTensors; index++) {
      const targetView = view(target, index);
      run.bindInput(`source.${index}`, view(source, index));
      run.bindInput(`target.${index}`, targetView);
      run.bindOutput(`result.${index}`, targetView);
    }
    return new PositionCopy(run, views);
  }

  /** After the copies that were made from it. */
  release(): void {
    this.#session.release();
  }
}

export class PositionCopy {
  readonly #run: DeviceRun;
  readonly #views: readonly Tensor[];

  constructor(run: DeviceRun, views: readonly Tensor[]) {
    this.#run = run;
    this.#views = views;
  }

  /**
   * Copies row `from[i]` of every source tensor to row `to[i]` of its target.
   * @throws DeviceError when the run fails
   */
  copy(from: BigInt64Array<ArrayBuffer>, to: BigInt64Array<ArrayBuffer>): void {
    if (from.length === 0) return;
    this.#run.upload('from', 'int64', [from.length], from);
    this.#run.upload('to', 'int64', [to.length, 1], to);
    this.#run.run();
  }

  release(): void {
    this.#run.release();
    for (const view of this.#views) view.release();
  }
}

function copyGraph(type: CopiedType, numTensors: number, width: number): Uint8Array {
  const graph = new GraphBuilder('copy-rows');
  graph.input('from', 'int64', ['moved']);
  graph.input('to', 'int64', ['moved', 1]);
  for (let index = 0; index < numTensors; index++) {
    graph.input(`source.${index}`, type, ['source_rows', width]);
    graph.input(`target.${index}`, type, ['target_rows', width]);
    const rows = graph.node(`rows.${index}`, 'Gather', [`source.${index}`, 'from']);
    graph.node(`result.${index}`, 'ScatterND', [`target.${index}`, 'to', rows]);
    graph.output(`result.${index}`, type, ['target_rows', width]);
  }
  return graph.toBytes();
}
