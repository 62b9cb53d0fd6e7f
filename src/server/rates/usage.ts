/** How much each client has had computed, since the server started. */

/** Totals of one client and one model. */
export interface UsageTotals {
  readonly requests: number;
  /** Requests that were answered from a cache. */
  readonly cachedRequests: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

export interface UsageEntry extends UsageTotals {
  /** Empty on a server without keys. */
  readonly client: string;
  readonly model: string;
}

const NOTHING: UsageTotals = {
  requests: 0,
  cachedRequests: 0,
  promptTokens: 0,
  outputTokens: 0,
};

/** As many entries as keys have names and models have served them. */
export class Usage {
  readonly #byClient = new Map<string, Map<string, UsageTotals>>();

  add(client: string, model: string, more: Partial<UsageTotals>): void {
    const byModel = this.#byClient.get(client) ?? new Map<string, UsageTotals>();
    this.#byClient.set(client, byModel);
    const before = byModel.get(model) ?? NOTHING;
    byModel.set(model, {
      requests: before.requests + (more.requests ?? 1),
      cachedRequests: before.cachedRequests + (more.cachedRequests ?? 0),
      promptTokens: before.promptTokens + (more.promptTokens ?? 0),
      outputTokens: before.outputTokens + (more.outputTokens ?? 0),
    });
  }

  /** In order of client and model. @param client null for all */
  list(client: string | null = null): UsageEntry[] {
    return [...this.#byClient]
      .filter(([name]) => client === null || name === client)
      .flatMap(([name, byModel]) =>
        Array.from(byModel, ([model, totals]) => ({ client: name, model, ...totals })),
      )
      .sort((a, b) => compare(a.client, b.client) || compare(a.model, b.model));
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
