/** Services that clients such as grpcurl learn of. */
import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { expect, test } from 'vitest';
import {
  ServerReflection,
  type ServerReflectionRequest,
} from '../../src/grpc/proto/reflection_pb.ts';
import { duplex, useGrpcServers } from './support/grpc-client.ts';

const server = useGrpcServers();

async function ask(messageRequest: ServerReflectionRequest['messageRequest']) {
  const { client } = await server();
  const stream = duplex(client, ServerReflection.method.serverReflectionInfo);
  stream.send({ messageRequest });
  const { messageResponse } = await stream.next();
  stream.end();
  return messageResponse;
}

test('services', async () => {
  expect(await ask({ case: 'listServices', value: '' })).toMatchObject({
    case: 'listServicesResponse',
    value: {
      service: [
        { name: 'inference.GRPCInferenceService' },
        { name: 'grpc.health.v1.Health' },
        { name: 'grpc.reflection.v1.ServerReflection' },
      ],
    },
  });
});

test.each([
  ['fileContainingSymbol', 'inference.GRPCInferenceService', 'inference.proto'],
  ['fileContainingSymbol', 'inference.GRPCInferenceService.ModelInfer', 'inference.proto'],
  ['fileContainingSymbol', 'inference.ModelInferRequest.InferInputTensor', 'inference.proto'],
  ['fileContainingSymbol', 'grpc.health.v1.Health', 'health.proto'],
  ['fileByFilename', 'reflection.proto', 'reflection.proto'],
] as const)('%s %s', async (kind, value, name) => {
  const found = await ask({ case: kind, value });
  if (found.case !== 'fileDescriptorResponse') throw new Error(`got ${found.case}`);
  const [bytes] = found.value.fileDescriptorProto;
  expect(fromBinary(FileDescriptorProtoSchema, bytes ?? new Uint8Array())).toMatchObject({ name });
});

test('what there is not', async () => {
  expect(await ask({ case: 'fileContainingSymbol', value: 'nothing.Here' })).toMatchObject({
    case: 'errorResponse',
    value: { errorCode: 5 },
  });
});
