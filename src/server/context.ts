/** What the HTTP surface is built over; the command line composes it. */
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from 'pino';
import type { ChatTemplate } from '../front/chat-template.ts';
import type { Engine } from '../front/engine.ts';
import type { Generator } from '../front/generation.ts';
import type { TextTokenizer } from '../front/tokenizer.ts';
import type { Metrics } from '../observability/metrics.ts';

/** Sampling values of the model's generation_config.json; what is absent has OpenAI's default. */
export interface SamplingDefaults {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
}

export interface ServedModel {
  /** The name clients use. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** Longest prompt plus output, in tokens. */
  readonly maxModelLen: number;
  readonly vocabSize: number;
  readonly samplingDefaults: SamplingDefaults;
}

export interface ServerConfig {
  /** Keys that open the API; empty leaves it open to all. */
  readonly apiKeys: readonly string[];
  /** Largest request body and WebSocket frame, in bytes. */
  readonly maxBodyBytes: number;
  /** Milliseconds of silence on an event stream before a comment line is sent. */
  readonly ssePingMs: number;
  /** Milliseconds between WebSocket pings; a socket that missed one is cut. */
  readonly webSocketPingMs: number;
  /** Version of this server, as /version tells it. */
  readonly version: string;
}

export const DEFAULT_SERVER_CONFIG: Omit<ServerConfig, 'version'> = {
  apiKeys: [],
  maxBodyBytes: 10 * 1024 * 1024,
  ssePingMs: 15_000,
  webSocketPingMs: 30_000,
};

export interface ServerContext {
  readonly generator: Generator;
  readonly engine: Engine;
  readonly tokenizer: Pick<TextTokenizer, 'encode' | 'decode' | 'idToToken'>;
  /** Null when the model has none; chat is refused then. */
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null;
  readonly model: ServedModel;
  readonly config: ServerConfig;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** True once shutdown began: running requests finish, new ones are refused. */
  isDraining(): boolean;
}

/** Hono's type parameter for every route of this server. */
export interface ServerEnv {
  Bindings: HttpBindings;
  Variables: { requestId: string };
}
