/** Codes of gRPC, and errors as gRPC has them. */
import type { ApiError, ErrorStatus } from '../server/errors.ts';

/** https://grpc.io/docs/guides/status-codes */
export const status = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type StatusCode = (typeof status)[keyof typeof status];

/** How a call ends. */
export interface CallStatus {
  readonly code: StatusCode;
  readonly details: string;
  /** Sent with the status. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export const OK: CallStatus = { code: status.OK, details: '' };

const NAMES = new Map<number, string>(Object.entries(status).map(([name, code]) => [code, name]));

/** Such as `NOT_FOUND`. */
export function nameOf(code: StatusCode): string {
  return NAMES.get(code) ?? String(code);
}

const CODES: Readonly<Record<ErrorStatus, StatusCode>> = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  404: status.NOT_FOUND,
  405: status.UNIMPLEMENTED,
  408: status.CANCELLED,
  409: status.ABORTED,
  413: status.RESOURCE_EXHAUSTED,
  414: status.INVALID_ARGUMENT,
  415: status.INVALID_ARGUMENT,
  429: status.RESOURCE_EXHAUSTED,
  431: status.RESOURCE_EXHAUSTED,
  500: status.INTERNAL,
  501: status.UNIMPLEMENTED,
  503: status.UNAVAILABLE,
  504: status.DEADLINE_EXCEEDED,
};

/** With what HTTP's `retry-after` says, also in the words that gRPC's own retries understand. */
export function toStatus({ status: httpStatus, message, headers }: ApiError): CallStatus {
  const code = CODES[httpStatus];
  const seconds = headers['retry-after'];
  if (seconds === undefined) return { code, details: message };
  const pushback = String(Number(seconds) * 1000);
  const metadata = { 'retry-after': seconds, 'grpc-retry-pushback-ms': pushback };
  return { code, details: message, metadata };
}
