/** The Open Inference Protocol over gRPC, with Triton's extensions. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { checkAdmin } from '../server/auth/auth.ts';
import { RequestRecord } from '../front/request-record.ts';
import type { ServerContext } from '../server/context.ts';
import { ApiError, unavailable } from '../server/errors.ts';
import { infer, streamInfer } from '../server/kserve/inference.ts';
import { isModelReady, modelMetadata, serverMetadata } from '../server/kserve/metadata.ts';
import { modelConfig } from '../server/kserve/model-config.ts';
import { loadModel, repositoryIndex, unloadModel } from '../server/kserve/repository.ts';
import { statisticsOf } from '../server/kserve/statistics.ts';
import { requireLive, requireReady } from '../server/operating/health.ts';
import { finishRequest } from '../server/operating/finish-request.ts';
import { toApiError } from '../server/to-api-error.ts';
import { charged, type RpcCall } from './call.ts';
import {
  DataType,
  GRPCInferenceService,
  type ModelInferRequest,
  type ModelStreamInferResponseSchema,
} from './proto/inference_pb.ts';
import { type Handlers, pathOf } from './service.ts';
import { status, type StatusCode, toStatus } from './status.ts';
import { statisticsMessage } from './statistics-message.ts';
import { toInferRequest, toResponseMessage } from './tensor-messages.ts';

const STREAM_INFER = pathOf(GRPCInferenceService.method.modelStreamInfer);

type Methods = (typeof GRPCInferenceService)['method'];

export function inferenceService(context: ServerContext): Handlers<Methods> {
  return {
    serverLive: () => ({ live: passes(() => requireLive(context)) }),
    serverReady: () => ({ ready: passes(() => requireReady(context)) }),
    serverMetadata() {
      const { name, version, extensions } = serverMetadata(context);
      return { name, version, extensions: [...extensions] };
    },
    modelReady: ({ name, version }) => ({ ready: isModelReady(context, name, version) }),
    async modelMetadata({ name, version }, { caller }) {
      const metadata = await modelMetadata(context, name, version, caller);
      const { versions, platform, inputs, outputs } = metadata;
      const toMessage = ({ name: tensor, datatype, shape }: (typeof outputs)[number]) => ({
        name: tensor,
        datatype,
        shape: shape.map(BigInt),
      });
      return {
        name: metadata.name,
        versions: [...versions],
        platform,
        inputs: inputs.map(toMessage),
        outputs: outputs.map(toMessage),
      };
    },
    async modelConfig({ name, version }, { caller }) {
      const config = modelConfig(await modelMetadata(context, name, version, caller));
      return {
        config: {
          name: config.name,
          platform: config.platform,
          backend: config.backend,
          maxBatchSize: config.max_batch_size,
          input: config.input.map(({ name: input, data_type: type, dims, optional }) => ({
            name: input,
            dataType: dataTypeOf(type),
            dims: dims.map(BigInt),
            optional,
          })),
          output: config.output.map(({ name: output, data_type: type, dims }) => ({
            name: output,
            dataType: dataTypeOf(type),
            dims: dims.map(BigInt),
          })),
          modelTransactionPolicy: config.model_transaction_policy,
        },
      };
    },
    async modelInfer(message, call) {
      const caller = await charged(context, call);
      return toResponseMessage(await infer(context, toInferRequest(message), caller), false);
    },
    modelStreamInfer: (message, call) => streamed(context, message, call),
    modelStatistics: ({ name, version }) => ({
      modelStats: statisticsOf(context, name === '' ? null : name, version).map(statisticsMessage),
    }),
    repositoryIndex: ({ ready }) => ({ models: [...repositoryIndex(context, ready)] }),
    async repositoryModelLoad({ modelName, parameters }, call) {
      checkAdmin(context, call);
      if (context.isDraining()) throw unavailable('The server is shutting down.');
      await loadModel(context, modelName, Object.keys(parameters));
      return {};
    },
    async repositoryModelUnload({ modelName }, call) {
      checkAdmin(context, call);
      await unloadModel(context, modelName);
      return {};
    },
  };
}

/**
 * Streams responses. A failure is reported in a message of its own: other requests of the stream go on.
 */
async function* streamed(
  context: ServerContext,
  message: ModelInferRequest,
  call: RpcCall,
): AsyncGenerator<MessageInitShape<typeof ModelStreamInferResponseSchema>, void> {
  const { id, modelName, modelVersion } = message;
  const record = new RequestRecord();
  let code: StatusCode = status.OK;
  try {
    const request = toInferRequest(message);
    const caller = { ...(await charged(context, call)), record };
    for await (const response of streamInfer(context, request, caller)) {
      yield { inferResponse: toResponseMessage(response, true) };
    }
  } catch (error) {
    code = status.CANCELLED;
    if (call.caller.signal.aborted) throw error;
    const failure = toApiError(error, context.logger);
    ({ code } = toStatus(failure));
    yield { errorMessage: failure.message, inferResponse: { id, modelName, modelVersion } };
  } finally {
    const { headers, caller } = call;
    const { client } = caller;
    finishRequest(context, { record, requestId: id, client, method: STREAM_INFER, code, headers });
  }
}

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

function dataTypeOf(name: string): DataType {
  const types: Readonly<Record<string, DataType>> = DataType;
  return types[name] ?? DataType.TYPE_INVALID;
}
