import { emitGated } from '../graph/activation.ts';
import { DecoderOps } from '../graph/decoder-ops.ts';
import { areLogitsProduct } from '../graph/decoder-parts.ts';
import type {
  Addition,
  Normalized,
  NormalizedInput,
  NormalizedSum,
  ResidualSum,
} from '../graph/decoder-values.ts';
import { type LinearInput, type LinearLayer, loadBias, matrixOf } from '../graph/linear.ts';
import type { NumberFormats } from '../graph/number-formats.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import { vocabularyMatrix } from '../graph/vocabulary-matrix.ts';
import { lmHeadSource } from '../graph/vocabulary-sources.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { tableSource } from '../huggingface/matrix-source.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { declareBest, emitBest, WANTS_LOGITS } from './best.ts';
import { NativeAdapters } from './native-adapters.ts';
import { headFormat, nativeFormat, storedFormat, type NativePrecision } from './native-format.ts';
import { emitNativeLinear, isGate, type LinearFusion } from './native-linear.ts';
import { addNativeMatrix, emitRows, type NativeMatrix } from './native-matrix.ts';

/** A decoder of the operators of native/: norms, gates and residuals are part of the products. */
export class NativeOps extends DecoderOps {
  readonly #precision: NativePrecision;
  readonly #steps: NumberFormats['steps'];
  readonly #adapters: NativeAdapters | null;
  #head: NativeMatrix | undefined;

  constructor(config: DecoderConfig, weights: WeightSource, formats: NumberFormats) {
    super(config, weights, 'float');
    const { precision, maxAdapterRank } = formats;
    if (precision === 'fp32' || precision === 'fp16') {
      throw new RangeError(`native/ has no weights of ${precision}`);
    }
    this.#precision = precision;
    this.#steps = formats.steps;
    this.#adapters =
      maxAdapterRank === undefined ? null : new NativeAdapters(this.graph, maxAdapterRank);
  }

  override embed(tokenIds: string): string {
    const { tieWordEmbeddings, family, vocabSize, hiddenSize } = this.config;
    const head = this.#lmHead();
    if (tieWordEmbeddings) return emitRows(this.graph, head, 'embedding/Rows', tokenIds);
    return this.rowsOf(family.tensors.embedding, [vocabSize, hiddenSize], tokenIds, 'embedding');
  }

  override rowsOf(...[tensor, shape, tokenIds, prefix]: Parameters<DecoderOps['rowsOf']>): string {
    const source = tableSource(tensor, shape);
    const stored = storedFormat(this.weights, source);
    if (stored !== null) {
      const matrix = addNativeMatrix(this.graph, this.weights, source, stored);
      return emitRows(this.graph, matrix, `${prefix}/Rows`, tokenIds);
    }
    const format = { kind: 'blocks', bits: 8, activations: 'float' } as const;
    const table = vocabularyMatrix(this.graph, this.weights, tensor, shape, format);
    return table.embed(tokenIds, prefix);
  }

  override norm(tensor: string | null, { sum }: ResidualSum, scale = 1): NormalizedSum {
    const { family, hiddenSize, rmsNormEps } = this.config;
    if (tensor === null) return { value: sum, sum: { sum } };
    if (family.norms !== 'rms') {
      return { value: this.norms.plain(tensor, sum, scale), sum: { sum } };
    }
    const weight = this.norms.weight(tensor, hiddenSize, scale);
    return { value: sum, norm: { weight, epsilon: rmsNormEps }, sum: { sum } };
  }

  override plain({ value, norm }: Normalized, name: string): string {
    return norm ? emitRmsNorm(this.graph, name, value, norm.weight, norm.epsilon) : value;
  }

  override linear(
    layer: LinearLayer,
    { value, norm, rowsLike }: NormalizedInput,
    fusion: LinearFusion = {},
  ): string {
    const isWanted = rowsLike === 'logits_index';
    const added = this.#adapters?.add(layer, value, norm, isWanted);
    return this.#product(layer, value, { ...fusion, norm, added });
  }

  override gated(layer: LinearLayer, input: NormalizedInput, prefix: string): string {
    const { activation } = this.config;
    return isGate(activation)
      ? this.linear(layer, input, { gate: activation })
      : emitGated(this.graph, prefix, this.linear(layer, input), activation);
  }

  override add(value: string, { to, norm, prefix }: Addition): ResidualSum {
    const normalized = norm === null ? value : this.norms.plain(norm, value);
    const name = `${norm ?? `${prefix}.mlp`}/Sum`;
    return { sum: this.graph.node(name, 'Add', [to.sum, normalized]) };
  }

  override addLinear(
    layer: LinearLayer,
    { value, rowsLike }: LinearInput,
    { pick = (rows) => rows, ...addition }: Addition,
  ): ResidualSum {
    const residual = pick(addition.to.sum);
    const input = { value: pick(value), rowsLike };
    if (addition.norm === null) return { sum: this.linear(layer, input, { residual }) };
    return this.add(this.linear(layer, input), { ...addition, to: { sum: residual } });
  }

  override project(output: string, { value, norm }: Normalized): void {
    // Others have another best, or several where the product has one: see declareLogits.
    const areLast = areLogitsProduct(this.config);
    const wantsLogits = areLast ? this.graph.input(WANTS_LOGITS, 'int32', []) : undefined;
    emitNativeLinear(this.graph, this.#lmHead(), output, value, { norm, wantsLogits });
  }

  override declareLogits(declareHidden: () => void): void {
    const { vocabSize } = this.config;
    if (!areLogitsProduct(this.config)) emitBest(this.graph, vocabSize);
    declareHidden();
    this.graph.output('logits', 'float', ['wanted', vocabSize]);
    declareBest(this.graph);
  }

  override expert({ value }: LinearInput, layer: LinearLayer): string {
    return this.#product(layer, value, {});
  }

  #lmHead(): NativeMatrix {
    if (this.#head !== undefined) return this.#head;
    const source = lmHeadSource(this.config);
    const format = headFormat(this.weights, source, this.#precision);
    this.#head = addNativeMatrix(this.graph, this.weights, source, format);
    return this.#head;
  }

  #product(layer: LinearLayer, input: string, fusion: LinearFusion): string {
    const bias = layer.bias ? () => loadBias(this.weights, layer) : undefined;
    const source = matrixOf(layer);
    const { numLayers } = this.config;
    const format = nativeFormat(this.weights, source, this.#precision, numLayers);
    const isGated = fusion.gate !== undefined;
    const matrix = addNativeMatrix(this.graph, this.weights, source, format, isGated);
    return emitNativeLinear(this.graph, matrix, `${layer.name}/Linear`, input, {
      ...fusion,
      bias,
      step: this.#steps?.get(layer.name),
    });
  }
}
