/** Errors as gRPC has them. */
import { Metadata, status, type StatusObject } from '@grpc/grpc-js';
import type { ApiError, ErrorStatus } from '../server/errors.ts';

const CODES: Readonly<Record<ErrorStatus, status>> = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  404: status.NOT_FOUND,
  405: status.UNIMPLEMENTED,
  408: status.CANCELLED,
  409: status.ABORTED,
  413: status.RESOURCE_EXHAUSTED,
  415: status.INVALID_ARGUMENT,
  429: status.RESOURCE_EXHAUSTED,
  431: status.RESOURCE_EXHAUSTED,
  500: status.INTERNAL,
  501: status.UNIMPLEMENTED,
  503: status.UNAVAILABLE,
  504: status.DEADLINE_EXCEEDED,
};

/** With what HTTP's `retry-after` says, also in the words that gRPC's own retries understand. */
export function toStatus({ status: httpStatus, message, headers }: ApiError): StatusObject {
  const metadata = new Metadata();
  const seconds = headers['retry-after'];
  if (seconds !== undefined) {
    metadata.set('retry-after', seconds);
    metadata.set('grpc-retry-pushback-ms', String(Number(seconds) * 1000));
  }
  return { code: CODES[httpStatus], details: message, metadata };
}
