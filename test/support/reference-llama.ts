import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';

type Vector = readonly number[];

/**
 * A plain forward pass of the Llama architecture: no fusing, no cache, one loop per formula. Slow, and
 * written apart from the graph builder, to check it.
 * @returns the logits after the last of `ids`
 */
export async function referenceLogits(
  config: DecoderConfig,
  weights: WeightSource,
  ids: readonly number[],
): Promise<number[]> {
  const { hiddenSize, vocabSize, numHeads, numKvHeads, headDim, intermediateSizes } = config;
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
  const norm = async (name: string, inputs: readonly Vector[]) => {
    const size = inputs[0]?.length ?? 0;
    const scale = await weights.get(`${name}.weight`, [size]);
    return inputs.map((input) => {
      const square = input.reduce((sum, value) => sum + value * value, 0) / size;
      const inverse = 1 / Math.sqrt(square + config.rmsNormEps);
      return input.map((value, i) => value * inverse * at(scale, i));
    });
  };

  const heads = async (name: string, inputs: Vector[], count: number) => {
    const rows = await linear(name, inputs, count * headDim, config.queryKeyValueBias);
    return rows.map((row) =>
      Array.from({ length: count }, (_, head) => row.slice(head * headDim, (head + 1) * headDim)),
    );
  };
  const turned = (rows: Vector[][]) =>
    rows.map((row, position) => row.map((head) => rotate(head, position, config)));

  const { embedding: embeddingName, finalNorm, lmHead } = config.family.tensors;
  const embedding = await weights.get(`${embeddingName}.weight`, [vocabSize, hiddenSize]);
  let hidden: Vector[] = ids.map((id) =>
    Array.from(embedding.subarray(id * hiddenSize, (id + 1) * hiddenSize)),
  );
  for (let layer = 0; layer < config.numLayers; layer++) {
    const name = `model.layers.${layer}`;
    const x = await norm(`${name}.input_layernorm`, hidden);
    const queries = turned(await heads(`${name}.self_attn.q_proj`, x, numHeads));
    const keys = turned(await heads(`${name}.self_attn.k_proj`, x, numKvHeads));
    const values = await heads(`${name}.self_attn.v_proj`, x, numKvHeads);
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
    const bias = config.attentionOutputBias;
    const output = await linear(`${name}.self_attn.o_proj`, attended, hiddenSize, bias);
    hidden = add(hidden, output);

    const { mlpBias } = config;
    const intermediateSize = at(intermediateSizes, layer);
    const y = await norm(`${name}.post_attention_layernorm`, hidden);
    const gate = await linear(`${name}.mlp.gate_proj`, y, intermediateSize, mlpBias);
    const up = await linear(`${name}.mlp.up_proj`, y, intermediateSize, mlpBias);
    const gated = gate.map((row, t) =>
      row.map((value, i) => (value / (1 + Math.exp(-value))) * at(at(up, t), i)),
    );
    hidden = add(hidden, await linear(`${name}.mlp.down_proj`, gated, hiddenSize, mlpBias));
  }
  const last = (await norm(finalNorm, hidden)).slice(-1);
  const head = config.tieWordEmbeddings ? embeddingName : lmHead;
  return at(await linear(head, last, vocabSize, false), 0);
}

function rotate(vector: Vector, position: number, { headDim, ropeTheta }: DecoderConfig): Vector {
  const half = headDim / 2;
  return vector.map((value, i) => {
    const angle = position / ropeTheta ** ((2 * (i % half)) / headDim);
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
