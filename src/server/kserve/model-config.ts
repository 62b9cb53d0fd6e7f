/** Triton's configuration of a model, as far as there is one to tell. */
import type { ModelMetadata } from './metadata.ts';
import type { Datatype } from './tensor.ts';

export interface ModelConfig {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  /** 0 where the batch is the server's own matter, and not a dimension of the tensors. */
  readonly max_batch_size: number;
  readonly input: readonly {
    readonly name: string;
    readonly data_type: string;
    readonly dims: readonly number[];
    readonly optional: boolean;
  }[];
  readonly output: readonly {
    readonly name: string;
    readonly data_type: string;
    readonly dims: readonly number[];
  }[];
  /** Whether a request may have many answers, or none. */
  readonly model_transaction_policy: { readonly decoupled: boolean };
}

export function modelConfig({
  name,
  platform,
  inputs,
  outputs,
  streams,
  maxBatchSize,
}: ModelMetadata): ModelConfig {
  // There the batch dimension is left out of the shapes.
  const dimsOf = (shape: readonly number[]) => (maxBatchSize > 0 ? shape.slice(1) : shape);
  return {
    name,
    platform,
    backend: 'chairlift',
    max_batch_size: maxBatchSize,
    input: inputs.map((tensor) => ({
      name: tensor.name,
      data_type: dataTypeOf(tensor.datatype),
      dims: dimsOf(tensor.shape),
      optional: tensor.isOptional,
    })),
    output: outputs.map((tensor) => ({
      name: tensor.name,
      data_type: dataTypeOf(tensor.datatype),
      dims: dimsOf(tensor.shape),
    })),
    model_transaction_policy: { decoupled: streams },
  };
}

/** Configurations have names of their own for the types. */
function dataTypeOf(datatype: Datatype): string {
  return `TYPE_${datatype === 'BYTES' ? 'STRING' : datatype}`;
}
