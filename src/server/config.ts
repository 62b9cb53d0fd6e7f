/** Settings of the HTTP surface, and their defaults. */
import { LIMITS } from '../limits.ts';

/** Both ends belong to it; lower goes first. */
export interface PriorityRange {
  readonly min: number;
  readonly max: number;
}

export interface ServerConfig {
  /** Address that the server listens on. */
  readonly host: string;
  /** Path below which a proxy shows it, such as `/llm`; empty for none. */
  readonly rootPath: string;
  /** Further names, in lower case, by which clients without keys may call it; `*` is any. */
  readonly allowedHosts: readonly string[];
  /** Whether this is a pod of Kubernetes, whose Services have names that end with `.svc`. */
  readonly isInCluster: boolean;
  /** Web pages that may use this server, such as `https://chat.example`; `*` is all. */
  readonly corsOrigins: readonly string[];
  /** Largest request body and WebSocket frame, in bytes. */
  readonly maxBodyBytes: number;
  /** Longest time of a request, waiting included, in milliseconds; null is no limit. */
  readonly requestTimeoutMs: number | null;
  /** Range of request priorities; others are clamped to it. */
  readonly priorities: PriorityRange;
  /** Whether clients with keys of their own find each other's prompts in the prefix cache. */
  readonly sharePrefixCache: boolean;
  /** Milliseconds of silence on an event stream before a comment line is sent. */
  readonly ssePingMs: number;
  /** Milliseconds between WebSocket pings; a socket that missed one is cut. */
  readonly webSocketPingMs: number;
  /** Status that /ready answers with while the server shuts down. */
  readonly drainStatus: 404 | 503;
  /** Whether the log has the beginning of each prompt. */
  readonly logPrompts: boolean;
  /** Version of this server, as /version reports it. */
  readonly version: string;
}

export const DEFAULT_SERVER_CONFIG: Omit<ServerConfig, 'version'> = {
  host: '127.0.0.1',
  rootPath: '',
  allowedHosts: [],
  isInCluster: false,
  corsOrigins: [],
  maxBodyBytes: LIMITS.bodyBytes,
  requestTimeoutMs: null,
  priorities: LIMITS.priorities,
  sharePrefixCache: false,
  ssePingMs: 15_000,
  webSocketPingMs: 30_000,
  drainStatus: 503,
  logPrompts: false,
};
