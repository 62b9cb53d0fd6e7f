/** Requests for text, as messages. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ModelInferRequestSchema } from '../../../src/grpc/proto/inference_pb.ts';
import { MODEL } from '../../server/support/test-server.ts';

export type InferMessage = MessageInitShape<typeof ModelInferRequestSchema>;

export function textRequest(
  text: string,
  sampling: object = {},
  changes: Partial<InferMessage> & { readonly stream?: boolean } = {},
): InferMessage {
  const { stream = false, ...rest } = changes;
  return {
    modelName: MODEL,
    inputs: [
      bytesInput('text_input', text),
      bytesInput('sampling_parameters', JSON.stringify(sampling)),
      flagInput('stream', stream),
      flagInput('exclude_input_in_output', true),
    ],
    ...rest,
  } as InferMessage;
}

export function bytesInput(name: string, text: string) {
  return {
    name,
    datatype: 'BYTES',
    shape: [1n],
    contents: { bytesContents: [new Uint8Array(Buffer.from(text))] },
  };
}

export function flagInput(name: string, value: boolean) {
  return { name, datatype: 'BOOL', shape: [1n], contents: { boolContents: [value] } };
}

/** The text of an answer's only output. */
export function textOf(raw: readonly Uint8Array[]): string {
  return Buffer.from(raw[0] ?? [])
    .subarray(4)
    .toString();
}
