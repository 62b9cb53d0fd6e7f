/** A connection to Redis or Valkey that is never waited for: it answers soon, or it is done without. */
import { Redis } from 'ioredis';
import { Breaker } from './breaker.ts';
import { reasonOf } from '../files/system-error.ts';

/** A command may take this long; one in the same data centre takes less than 2 ms. */
const COMMAND_TIMEOUT_MS = 100;
const CONNECT_TIMEOUT_MS = 2000;
const LONGEST_RECONNECT_MS = 2000;
/** Commands under way, each with its value. */
const MAX_COMMANDS = 256;

/** Redis is gone, slow, or refuses. */
export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError';
}

export interface RedisLinkOptions {
  /** Milliseconds that a command may take. */
  readonly timeoutMs?: number;
  /** Called when it can be used again, or not any more, with the reason. */
  readonly onChange?: (isUp: boolean, reason: string) => void;
}

export class RedisLink {
  readonly #client: Redis;
  readonly #breaker = new Breaker();
  readonly #onChange: RedisLinkOptions['onChange'];
  readonly #timeoutMs: number;
  #numCommands = 0;
  #numErrors = 0;
  #wasUp: boolean | null = null;

  /** Connects by itself, and again whenever the connection is lost. @param url `redis://` or `rediss://` */
  constructor(url: string, options: RedisLinkOptions = {}) {
    this.#onChange = options.onChange;
    this.#timeoutMs = options.timeoutMs ?? COMMAND_TIMEOUT_MS;
    this.#client = new Redis(url, {
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Nothing waits for a connection to come back.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => Math.min(50 * 2 ** times, LONGEST_RECONNECT_MS),
    });
    this.#client.on('ready', () => {
      this.#breaker.succeeded();
      this.#changed(true, 'connected');
    });
    // Without a listener a lost connection would end the process.
    this.#client.on('error', (error: Error) => this.#changed(false, error.message));
    this.#client.on('close', () => this.#changed(false, 'the connection was closed'));
  }

  /** Whether a command would be sent. */
  get isUp(): boolean {
    return this.#client.status === 'ready' && this.#breaker.isReady;
  }

  /** Commands that failed or took too long. */
  get numErrors(): number {
    return this.#numErrors;
  }

  /** Defines a script as a command for `call`. */
  defineCommand(
    name: string,
    definition: { readonly numberOfKeys?: number; readonly lua: string },
  ) {
    this.#client.defineCommand(name, definition);
  }

  /**
   * @param timeoutMs that it may take, if that is not what all may
   * @throws RedisUnavailableError, at once or when its time is over
   */
  async run<T>(
    command: (client: Redis) => Promise<T>,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<T> {
    if (!this.isUp) throw new RedisUnavailableError('Redis is not available');
    if (this.#numCommands >= MAX_COMMANDS) throw new RedisUnavailableError('Redis is too slow');
    this.#numCommands++;
    this.#breaker.began();
    try {
      const result = await this.#inTime(command(this.#client), timeoutMs);
      this.#breaker.succeeded();
      this.#changed(true, 'it answers');
      return result;
    } catch (error) {
      this.#numErrors++;
      this.#breaker.failed();
      const reason = reasonOf(error);
      if (!this.#breaker.isReady) this.#changed(false, reason);
      throw new RedisUnavailableError(`Redis: ${reason}`, { cause: error });
    } finally {
      this.#numCommands--;
    }
  }

  /**
   * A timer alone would take a stall of this process for one of Redis: what has arrived meanwhile is
   * read before time is over.
   */
  async #inTime<T>(result: Promise<T>, timeoutMs: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const tooLate = () => reject(new Error(`no answer within ${timeoutMs} ms`));
      timer = setTimeout(() => setImmediate(tooLate), timeoutMs);
    });
    try {
      return await Promise.race([result, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#client.disconnect();
  }

  #changed(isUp: boolean, reason: string): void {
    if (this.#wasUp === isUp) return;
    this.#wasUp = isUp;
    this.#onChange?.(isUp, reason);
  }
}
