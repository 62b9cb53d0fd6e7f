/** gRPC's own health checks. */
import { setTimeout } from 'node:timers/promises';
import type { ServerContext } from '../server/context.ts';
import { ApiError } from '../server/errors.ts';
import { requireReady } from '../server/operating/health.ts';
import { type Health, HealthCheckResponse_ServingStatus as Status } from './proto/health_pb.ts';
import { GRPCInferenceService } from './proto/inference_pb.ts';
import type { Handlers } from './service.ts';
import { told } from '../told.ts';

/** Milliseconds between looks for clients that watch. */
const LOOK_MS = 1000;

/** The server as a whole, and its only service. */
const SERVICES: readonly string[] = ['', GRPCInferenceService.typeName];

/** @param closing aborts when the server closes: nobody watches any longer */
export function healthService(
  context: ServerContext,
  closing: AbortSignal,
): Handlers<(typeof Health)['method']> {
  return {
    check({ service }) {
      if (SERVICES.includes(service)) return { status: statusOf(context) };
      throw new ApiError(404, 'NotFoundError', `There is no service ${told(service, 200)}.`);
    },
    async *watch({ service }, { caller }) {
      let last: Status | undefined;
      const signal = AbortSignal.any([caller.signal, closing]);
      while (!signal.aborted) {
        const status = SERVICES.includes(service) ? statusOf(context) : Status.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        await setTimeout(LOOK_MS, undefined, { signal }).catch(() => {});
      }
    },
  };
}

function statusOf(context: ServerContext): Status {
  try {
    requireReady(context);
    return Status.SERVING;
  } catch (error) {
    if (error instanceof ApiError) return Status.NOT_SERVING;
    throw error;
  }
}
