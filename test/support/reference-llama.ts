import type { DecoderConfig } from '../../src/model/config.ts';
import { layerTensorNames } from '../../src/model/families.ts';
import type { RopeScaling } from '../../src/model/rope.ts';
import type { WeightSource } from '../../src/model/weights.ts';

type Vector = readonly number[];

/**
 * A plain forward pass of the Llama architecture: no fusing, no cache, one loop per formula. Slow,
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
  const norm = async (name: string, inputs: Vector[]) => {
    const scale = await weights.get(`${name}.weight`, [hiddenSize]);
    return inputs.map((input) => {
      const square = input.reduce((sum, value) => sum + value * value, 0) / hiddenSize;
      const inverse = 1 / Math.sqrt(square + config.rmsNormEps);
      return input.map((value, i) => value * inverse * at(scale, i));
    });
  };

  const { embedding: embeddingName, finalNorm, lmHead } = config.family.tensors;
  const embedding = await weights.get(`${embeddingName}.weight`, [vocabSize, hiddenSize]);
  let hidden: Vector[] = ids.map((id) =>
    Array.from(embedding.subarray(id * hiddenSize, (id + 1) * hiddenSize)),
  );
  for (let layer = 0; layer < config.numLayers; layer++) {
    const names = layerTensorNames(config.family, layer);
    const { queryKeyValueBias: bias } = config;
    const x = await norm(names.attentionNorm, hidden);
    const heads = async (name: string, count: number, rotary: boolean) =>
      (await linear(name, x, count * headDim, bias)).map((row, position) =>
        Array.from({ length: count }, (_, head) => {
          const part = row.slice(head * headDim, (head + 1) * headDim);
          return rotary ? rotate(part, position, config) : part;
        }),
      );
    const queries = await heads(names.query, numHeads, true);
    const keys = await heads(names.key, numKvHeads, true);
    const values = await heads(names.value, numKvHeads, false);
    const attended = queries.map((row, position) =>
      row.flatMap((query, head) => {
        const kvHead = Math.floor(head / (numHeads / numKvHeads));
        const past = keys.slice(0, position + 1).map((key) => at(key, kvHead));
        const shares = softmax(past.map((key) => dot(query, key) / Math.sqrt(headDim)));
        return query.map((_, i) =>
          shares.reduce((sum, share, k) => sum + share * at(at(at(values, k), kvHead), i), 0),
        );
      }),
    );
    const output = await linear(
      names.attentionOutput,
      attended,
      hiddenSize,
      config.attentionOutputBias,
    );
    hidden = add(hidden, output);

    const y = await norm(names.mlpNorm, hidden);
    const gate = await linear(names.gate, y, intermediateSize, config.mlpBias);
    const up = await linear(names.up, y, intermediateSize, config.mlpBias);
    const gated = gate.map((row, t) =>
      row.map((value, i) => (value / (1 + Math.exp(-value))) * at(at(up, t), i)),
    );
    hidden = add(hidden, await linear(names.down, gated, hiddenSize, config.mlpBias));
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

function rotate(vector: Vector, position: number, config: DecoderConfig): Vector {
  const half = config.headDim / 2;
  return vector.map((value, i) => {
    const frequency = 1 / config.ropeTheta ** ((2 * (i % half)) / config.headDim);
    const angle = position * scaledFrequency(frequency, config.ropeScaling);
    const partner = i < half ? -at(vector, i + half) : at(vector, i - half);
    return value * Math.cos(angle) + partner * Math.sin(angle);
  });
}

function softmax(scores: Vector): Vector {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
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
