/** How much each client may ask for in a minute: requests, and tokens. */
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { TokenMeter } from '../../front/caller.ts';
import { LIMITS } from '../../limits.ts';
import type { Rates } from '../auth/key-rates.ts';
import { rateLimited, tooManyLoads } from '../errors.ts';
import { type Headers, rateHeaders, type RateUnit } from '../http/rate-headers.ts';

const WINDOW_SECONDS = 60;

/** Limit of an account in a window of time. */
export interface LimiterOptions {
  /** Prefix of its name in a store. */
  readonly keyPrefix: string;
  readonly points: number;
  /** Seconds. */
  readonly duration: number;
}

export interface RateLimitsOptions {
  /** Rates of every account. */
  readonly rates: Rates;
  /** Rates of an account that replace these, as far as it has its own. */
  readonly ownRates?: (account: string) => Partial<Rates> | undefined;
  /** Somebody was refused. */
  readonly onRefusal?: (unit: RateUnit) => void;
  /** Where it is counted; in memory if left out. */
  readonly createLimiter?: (options: LimiterOptions) => RateLimiterAbstract;
}

/** Shows the client its remaining rate; called again when that changes. */
type Show = (headers: Headers) => void;

/**
 * The minute of an account begins with its first request, and all that it may ask for comes back at
 * its end. Tokens are taken before a generation starts, as many as it may come to; what it did not
 * use is given back at its end. One that may come to more than the minute has takes all of it, so
 * that it can run at all, and owes the rest.
 */
export class RateLimits {
  readonly #options: RateLimitsOptions;
  /** By unit and points: accounts may have limits of their own. */
  readonly #limiters = new Map<string, RateLimiterAbstract>();
  /** Counter of this process alone: each replica has models of its own. */
  readonly #loads = new RateLimiterMemory({
    points: LIMITS.clientLoadsPerMinute,
    duration: WINDOW_SECONDS,
  });

  constructor(options: RateLimitsOptions) {
    this.#options = options;
  }

  /**
   * Takes one request from an account.
   * @returns takes its tokens; undefined where these are not limited
   * @throws ApiError 429
   */
  async takeRequest(account: string, show: Show = () => {}): Promise<TokenMeter | undefined> {
    const { requests, tokens } = { ...this.#options.rates, ...this.#options.ownRates?.(account) };
    if (requests !== null) await this.#take('requests', requests, account, 1, show);
    if (tokens === null) return undefined;
    return { charge: (most) => this.#charge(account, tokens, most, show) };
  }

  /**
   * Takes one load of a model from a client, which names it.
   * @throws ApiError 429
   */
  async takeLoad(client: string): Promise<void> {
    try {
      await this.#loads.consume(client);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      throw tooManyLoads(LIMITS.clientLoadsPerMinute, error.msBeforeNext);
    }
  }

  /** The rate of tokens of an account, for work that is no request of its own. */
  meterOf(account: string): TokenMeter | undefined {
    const { tokens } = { ...this.#options.rates, ...this.#options.ownRates?.(account) };
    if (tokens === null) return undefined;
    return { charge: (most) => this.#charge(account, tokens, most, () => {}) };
  }

  async #charge(
    account: string,
    limit: number,
    most: number,
    show: Show,
  ): ReturnType<TokenMeter['charge']> {
    const taken = Math.min(most, limit);
    const { msBeforeNext } = await this.#take('tokens', limit, account, taken, show);
    const endsAt = performance.now() + msBeforeNext;
    const limiter = this.#limiter('tokens', limit);
    return async (used) => {
      const owed = used - taken;
      if (owed > 0) show(rateHeaders('tokens', limit, await limiter.penalty(account, owed)));
      // Points left of a minute that is over have come back already.
      if (owed >= 0 || performance.now() >= endsAt) return;
      show(rateHeaders('tokens', limit, await limiter.reward(account, -owed)));
    };
  }

  async #take(
    unit: RateUnit,
    limit: number,
    account: string,
    points: number,
    show: Show,
  ): Promise<RateLimiterRes> {
    const limiter = this.#limiter(unit, limit);
    try {
      const result = await limiter.consume(account, points);
      show(rateHeaders(unit, limit, result));
      return result;
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      // A request that was refused uses no points.
      show(rateHeaders(unit, limit, await limiter.reward(account, points)));
      this.#options.onRefusal?.(unit);
      throw rateLimited(unit, limit, error.msBeforeNext);
    }
  }

  #limiter(unit: RateUnit, points: number): RateLimiterAbstract {
    const name = `${unit}:${points}`;
    const known = this.#limiters.get(name);
    if (known !== undefined) return known;
    const options = { keyPrefix: name, points, duration: WINDOW_SECONDS };
    const limiter = this.#options.createLimiter?.(options) ?? new RateLimiterMemory(options);
    this.#limiters.set(name, limiter);
    return limiter;
  }
}
