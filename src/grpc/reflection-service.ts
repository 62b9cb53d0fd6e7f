/**
 * Reports to clients such as grpcurl which services exist, in the descriptors that our code was made
 * from.
 */
import { create, type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import {
  type ServerReflection,
  ServerReflectionResponseSchema,
  type ServerReflectionRequest,
} from './proto/reflection_pb.ts';
import type { Handlers } from './service.ts';
import { status } from './status.ts';

export function reflectionService(
  services: readonly DescService[],
): Handlers<(typeof ServerReflection)['method']> {
  return {
    async *serverReflectionInfo(request) {
      yield {
        validHost: request.host,
        originalRequest: request,
        messageResponse: answer(request, services),
      };
    },
  };
}

type Answer = ReturnType<typeof noAnswer>['messageResponse'];
const noAnswer = () => create(ServerReflectionResponseSchema);

function answer(
  { messageRequest: asked }: ServerReflectionRequest,
  services: readonly DescService[],
): Answer {
  return create(ServerReflectionResponseSchema, { messageResponse: found(asked, services) })
    .messageResponse;
}

function found(asked: ServerReflectionRequest['messageRequest'], services: readonly DescService[]) {
  switch (asked.case) {
    case 'listServices': {
      const service = services.map(({ typeName: name }) => ({ name }));
      return { case: 'listServicesResponse' as const, value: { service } };
    }
    case 'fileByFilename':
      return fileAnswer(services.find(({ file }) => `${file.name}.proto` === asked.value)?.file);
    case 'fileContainingSymbol':
      return fileAnswer(services.find((service) => hasSymbol(service, asked.value))?.file);
    case 'fileContainingExtension':
    case 'allExtensionNumbersOfType':
    case undefined:
      return fileAnswer(undefined);
  }
}

function hasSymbol({ typeName, methods, file }: DescService, symbol: string): boolean {
  if (symbol === typeName || methods.some(({ name }) => symbol === `${typeName}.${name}`)) {
    return true;
  }
  // Within a message are only more of them, and its fields.
  return [...file.messages, ...file.enums].some(
    ({ typeName: type }) => symbol === type || symbol.startsWith(`${type}.`),
  );
}

function fileAnswer(file: DescFile | undefined) {
  if (file === undefined) {
    const value = { errorCode: status.NOT_FOUND, errorMessage: 'There is no such thing.' };
    return { case: 'errorResponse' as const, value };
  }
  const fileDescriptorProto = [toBinary(FileDescriptorProtoSchema, file.proto)];
  return { case: 'fileDescriptorResponse' as const, value: { fileDescriptorProto } };
}
