/** This server's addresses. */
export interface OwnAddress {
  /** URL that it listens on, which may be any address of the machine. */
  readonly bound: URL;
  /** Where others reach it. */
  readonly reached: URL;
}

/**
 * Lists addresses at which other replicas may be. Each is asked for the key before it gets a request.
 */
export interface Directory {
  /** @throws Error when it can't be asked */
  find(): Promise<readonly URL[]>;
  /** Called once it is known, and others may find this server. */
  enter?(own: OwnAddress): void;
  /** Others find this server no more. */
  leave?(): Promise<void>;
}

/** All that several directories know; one that fails leaves the others. */
export class Directories implements Directory {
  readonly #directories: readonly Directory[];
  readonly #onFailure: (error: unknown) => void;

  constructor(directories: readonly Directory[], onFailure: (error: unknown) => void) {
    this.#directories = directories;
    this.#onFailure = onFailure;
  }

  async find(): Promise<readonly URL[]> {
    const found = await Promise.allSettled(this.#directories.map((directory) => directory.find()));
    const urls = found.flatMap((result) => {
      if (result.status === 'fulfilled') return result.value;
      this.#onFailure(result.reason);
      return [];
    });
    return [...new Map(urls.map((url) => [url.href, url])).values()];
  }

  enter(own: OwnAddress): void {
    for (const directory of this.#directories) directory.enter?.(own);
  }

  async leave(): Promise<void> {
    await Promise.all(this.#directories.flatMap((directory) => directory.leave?.() ?? []));
  }
}
