/** A thing to fuzz: it is given bytes, and either takes or refuses them. */

export interface Target {
  readonly name: string;
  /** Inputs to begin with, besides the corpus. */
  readonly seeds: readonly (string | Buffer)[];
  readonly dictionary?: readonly string[];
  readonly maxBytes: number;
  /** Executed blocks that an input may cost; what an ordinary one costs, many times over. */
  readonly maxWork: number;
  /** Whether inputs go to a server, many at once. */
  readonly isParallel?: boolean;
  /** Packages whose code is covered as well as ours. */
  readonly packages?: readonly string[];
  /** Before the first input. */
  start?(): Promise<void>;
  stop?(): Promise<void>;
  /** @throws whatever is no answer to bad input */
  run(input: Buffer): void | Promise<void>;
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** As much as is told of any input, and a prompt's names. */
const MAX_MESSAGE_CHARACTERS = 8192;

/**
 * Tries `read`, which may refuse the input with one of `refusals`: these have a text that can be sent.
 * @returns undefined where it refused
 * @throws whatever else it throws
 */
export function refusable<T>(read: () => T, ...refusals: readonly ErrorClass[]): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error) || !refusals.some((known) => error instanceof known)) throw error;
    requireSendable(error.message);
    return undefined;
  }
}

/** @throws Error for a text that no answer can hold */
export function requireSendable(text: string): void {
  if (text.length > MAX_MESSAGE_CHARACTERS)
    throw new Error(`a message of ${text.length} characters`);
  if (!text.isWellFormed())
    throw new Error(`a message that can't be encoded: ${JSON.stringify(text)}`);
}
