import type { DecoderConfig } from '../../src/model/config.ts';
import type { RopeScaling } from '../../src/model/rope.ts';
import type { WeightSource } from '../../src/model/weights.ts';

type Vector = readonly number[];

/**
 * A plain forward pass of the Llama architecture and what grew from it: no fusing, no cache, one loop per formula. Slow,
 * and written apart from the graph builder, to check it.
 * @returns the logits after the last of `ids`
 */
export async function referenceLogits(
  config: DecoderConfig,
  weights: WeightSource,
  ids: readonly number[],
): Promise<number[]> {
  const { hiddenSize, vocabSize, numHeads, numKvHeads, headDim, intermediateSize } = config;
  const linear = async (name: string, inputs: Vector[], size: number, bias: boolean) => {
    const inSize = inputs[0]?.length ?? 0;
    const weight = await weights.get(`${name}.weight`, [size, inSize]);
    const offset = bias ? await weights.get(`${name}.bias`, [size]) : new Float32Array(size);
    return inputs.map((input) =>
      Array.from(offset, (start, o) =>
        input.reduce((sum, value, i) => sum + value * at(weight, o * inSize + i), start),
      ),
    );
  };
  const isGemma = config.family.modelType === 'gemma3_text';
  const norm = async (name: string, inputs: readonly Vector[]) => {
    const size = inputs[0]?.length ?? 0;
    const scale = await weights.get(`${name}.weight`, [size]);
    return inputs.map((input) => {
      const square = input.reduce((sum, value) => sum + value * value, 0) / size;
      const inverse = 1 / Math.sqrt(square + config.rmsNormEps);
      return input.map((value, i) => value * inverse * (at(scale, i) + (isGemma ? 1 : 0)));
    });
  };

  const isPhi = config.family.modelType === 'phi3';
  /** Queries, keys and values, each by position and head; the first two turned. */
  const projections = async (name: string, x: Vector[], layer: number) => {
    const sizes = [numHeads, numKvHeads, numKvHeads].map((count) => count * headDim);
    const bias = config.queryKeyValueBias;
    const names = ['q_proj', 'k_proj', 'v_proj'].map((part) => `${name}.${part}`);
    const all = isPhi
      ? split(await linear(`${name}.qkv_proj`, x, total(sizes), bias), sizes)
      : await Promise.all(names.map((part, i) => linear(part, x, at(sizes, i), bias)));
    const byHead = all.map((rows) =>
      rows.map((row) =>
        Array.from({ length: row.length / headDim }, (_, head) =>
          row.slice(head * headDim, (head + 1) * headDim),
        ),
      ),
    );
    const [queries, keys] = await Promise.all(
      ['q_norm', 'k_norm'].map(async (part, i) => {
        const rows = at(byHead, i);
        const hasNorm = ['qwen3', 'gemma3_text'].includes(config.family.modelType);
        const normed = hasNorm
          ? await Promise.all(rows.map((heads) => norm(`${name}.${part}`, heads)))
          : rows;
        return normed.map((heads, position) =>
          heads.map((head) => rotate(head, position, config, layer)),
        );
      }),
    );
    return [queries ?? [], keys ?? [], at(byHead, 2)] as const;
  };
  const gateAndUp = async (name: string, y: Vector[]) => {
    const { mlpBias } = config;
    const sizes = [intermediateSize, intermediateSize];
    const [gate, up] = isPhi
      ? split(await linear(`${name}.gate_up_proj`, y, total(sizes), mlpBias), sizes)
      : await Promise.all(
          ['gate_proj', 'up_proj'].map((part) =>
            linear(`${name}.${part}`, y, intermediateSize, mlpBias),
          ),
        );
    return [gate ?? [], up ?? []] as const;
  };
  const activate = (x: number) =>
    isGemma
      ? (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
      : x / (1 + Math.exp(-x));

  const { embedding: embeddingName, finalNorm, lmHead } = config.family.tensors;
  const embedding = await weights.get(`${embeddingName}.weight`, [vocabSize, hiddenSize]);
  let hidden: Vector[] = ids.map((id) =>
    Array.from(
      embedding.subarray(id * hiddenSize, (id + 1) * hiddenSize),
      (value) => value * (isGemma ? Math.sqrt(hiddenSize) : 1),
    ),
  );
  for (let layer = 0; layer < config.numLayers; layer++) {
    const name = `model.layers.${layer}`;
    const window = config.slidingWindows[layer] ?? Infinity;
    const x = await norm(`${name}.input_layernorm`, hidden);
    const [queries, keys, values] = await projections(`${name}.self_attn`, x, layer);
    const attended = queries.map((row, position) =>
      row.flatMap((query, head) => {
        const kvHead = Math.floor(head / (numHeads / numKvHeads));
        const first = Math.max(0, position + 1 - window);
        const past = keys.slice(first, position + 1).map((key) => at(key, kvHead));
        const shares = softmax(past.map((key) => dot(query, key) * config.attentionScale));
        return query.map((_, i) =>
          shares.reduce(
            (sum, share, k) => sum + share * at(at(at(values, first + k), kvHead), i),
            0,
          ),
        );
      }),
    );
    const bias = config.attentionOutputBias;
    const output = await linear(`${name}.self_attn.o_proj`, attended, hiddenSize, bias);
    const afterAttention = `${name}.post_attention_layernorm`;
    hidden = add(hidden, isGemma ? await norm(afterAttention, output) : output);

    const beforeMlp = isGemma ? `${name}.pre_feedforward_layernorm` : afterAttention;
    const y = await norm(beforeMlp, hidden);
    const [gate, up] = await gateAndUp(`${name}.mlp`, y);
    const gated = gate.map((row, t) => row.map((value, i) => activate(value) * at(at(up, t), i)));
    const down = await linear(`${name}.mlp.down_proj`, gated, hiddenSize, config.mlpBias);
    const afterMlp = `${name}.post_feedforward_layernorm`;
    hidden = add(hidden, isGemma ? await norm(afterMlp, down) : down);
  }
  const last = (await norm(finalNorm, hidden)).slice(-1);
  const head = config.tieWordEmbeddings ? embeddingName : lmHead;
  return at(await linear(head, last, vocabSize, false), 0);
}

/** A rotary frequency after scaling, as Transformers writes it: by wavelength. */
export function scaledFrequency(frequency: number, scaling: RopeScaling): number {
  if (scaling.type === 'default') {
    return frequency;
  }
  if (scaling.type === 'linear') {
    return frequency / scaling.factor;
  }
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositionEmbeddings: old } = scaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < old / highFreqFactor) {
    return frequency;
  }
  if (wavelength > old / lowFreqFactor) {
    return frequency / factor;
  }
  const smooth = (old / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return ((1 - smooth) * frequency) / factor + smooth * frequency;
}

function rotate(
  vector: Vector,
  position: number,
  { headDim, ropeTheta, ropeScaling, localRopeTheta, slidingWindows }: DecoderConfig,
  layer: number,
): Vector {
  const half = headDim / 2;
  const isLocal = localRopeTheta !== null && slidingWindows[layer] !== null;
  return vector.map((value, i) => {
    const exponent = (2 * (i % half)) / headDim;
    const angle = isLocal
      ? position / localRopeTheta ** exponent
      : position * scaledFrequency(1 / ropeTheta ** exponent, ropeScaling);
    const partner = i < half ? -at(vector, i + half) : at(vector, i - half);
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}

function softmax(scores: Vector): Vector {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = total(powers);
  return powers.map((power) => power / sum);
}

/** Takes the columns of each row apart. */
function split(rows: readonly Vector[], sizes: readonly number[]): Vector[][] {
  return sizes.map((size, part) => {
    const first = total(sizes.slice(0, part));
    return rows.map((row) => row.slice(first, first + size));
  });
}

function total(values: Vector): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function dot(a: Vector, b: Vector): number {
  return a.reduce((sum, value, i) => sum + value * at(b, i), 0);
}

function add(a: readonly Vector[], b: readonly Vector[]): Vector[] {
  return a.map((row, t) => row.map((value, i) => value + at(at(b, t), i)));
}

function at<T>(values: ArrayLike<T>, index: number): T {
  const value = values[index];
  if (value === undefined) {
    throw new RangeError(`no element ${index} of ${values.length}`);
  }
  return value;
}
