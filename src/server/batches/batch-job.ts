/** One batch at work: its lines run until all are done, or it ends early. */
import { setMaxListeners } from 'node:events';
import { ApiError } from '../errors.ts';
import { LIMITS } from '../../limits.ts';
import { type BatchRecord, type BatchStatus, hasEnded } from './batch-record.ts';
import { BatchResults } from './batch-results.ts';
import type { FileStore } from './file-store.ts';
import { parseInputLine } from './input-line.ts';
import type { Pause } from './job-turns.ts';
import { LineIndex } from './line-file.ts';
import type { LineWork } from './line-work.ts';
import { validateInput } from './validate-input.ts';

/** How a batch can end once it has been at work. */
type Ending = NonNullable<BatchRecord['ending']>;

const CANCELLED = { ending: 'cancelled' } as const;

export interface BatchJobOptions {
  readonly files: FileStore;
  readonly work: LineWork;
  /** Unix time in seconds. */
  readonly now: () => number;
  /** Keeps a new state. */
  readonly save: (record: BatchRecord) => Promise<void>;
}

export class BatchJob {
  readonly #options: BatchJobOptions;
  readonly #ending = new AbortController();
  /** Fulfilled when nothing of it is left to do. */
  readonly ended: Promise<void>;
  #tellEnd: () => void = () => {};
  #record: BatchRecord;
  #input: LineIndex | null = null;
  #results: BatchResults | null = null;
  #nextLine = 0;
  readonly #inFlight = new Set<Promise<void>>();
  /** Fulfilled with how it ends at once, if it does. */
  #opening: Promise<Ending | null> | null = null;
  #finishing: Promise<void> | null = null;
  #isSuspended = false;
  /** The states so far, one after the other. */
  #saved: Promise<void> = Promise.resolve();

  constructor(record: BatchRecord, options: BatchJobOptions) {
    this.#record = record;
    this.#options = options;
    // All lines that run listen; Node would report more than ten listeners as a leak.
    setMaxListeners(0, this.#ending.signal);
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
  }

  /** As of now. */
  get record(): BatchRecord {
    const { counts, usage } = this.#record;
    const results = this.#results;
    if (results === null) return this.#record;
    return {
      ...this.#record,
      counts: { ...counts, ...results.counts },
      usage: results.usage ?? usage,
    };
  }

  /** Whether there are lines to start; `open` comes first. */
  get hasMore(): boolean {
    // Its results are opened last: without them a line would count as done.
    return this.#finishing === null && this.#results !== null && this.#nextLine < this.#numLines;
  }

  /** Checks its input, or takes up what an earlier process left. Ends it if there is nothing to do. */
  async open(): Promise<void> {
    if (this.#finishing !== null) return;
    try {
      this.#opening = this.#open();
      const ending = await this.#opening;
      if (ending !== null) await this.end(ending);
      if (hasEnded(this.#record)) this.#tellEnd();
    } catch (error) {
      if (!this.#ending.signal.aborted) await this.fail(error);
    }
  }

  /** Runs the next line that is not done. Never throws. */
  async runNext(pause: Pause): Promise<void> {
    const line = this.#nextLine++;
    if (this.#results === null || this.#results.isDone(line)) return;
    const running = this.#run(line, pause);
    this.#inFlight.add(running);
    await running;
    this.#inFlight.delete(running);
    if (this.#isDone) await this.end('completed');
  }

  /** Ends it early. Fulfilled once that is on the disk; its lines may be at work still. */
  async cancel(): Promise<void> {
    if (!this.#isSuspended) void this.end('cancelled');
    // Whoever goes on with it ends it.
    else if (this.#record.ending === null) await this.#enter('cancelling', CANCELLED);
    await this.#saved;
  }

  /** Ends it early, or because all is done; its lines that run are given up. */
  end(ending: Ending): Promise<void> {
    this.#finishing ??= this.#finish(ending)
      .catch((error: unknown) => {
        this.#note(error, null);
        // Keeps what was written; if the disk takes nothing, the batch ends here at least.
        return this.#enter('failed', {});
      })
      .catch((error: unknown) => {
        // Its state on the disk says where to go on.
        this.#options.work.logger.error({ err: error, batch: this.#record.id }, 'batch: no end');
      })
      .finally(this.#tellEnd);
    return this.#finishing;
  }

  /** Ends it because of a disk that is full, a file that is gone. @param line from 1; null for all */
  async fail(error: unknown, line: number | null = null): Promise<void> {
    this.#note(error, line);
    await this.end('failed');
  }

  /** Has its record say what went wrong. */
  #note(error: unknown, line: number | null): void {
    this.#options.work.logger.error({ err: error, batch: this.#record.id }, 'batch failed');
    const told = error instanceof ApiError ? error : null;
    const message = told?.message ?? 'The server could not read or write the files of the batch.';
    const code = told?.code ?? 'server_error';
    this.#record = { ...this.#record, errors: [{ code, message, param: null, line }] };
  }

  /** Stops work and leaves the rest for another process. */
  async suspend(): Promise<void> {
    this.#isSuspended ||= this.#finishing === null;
    this.#finishing ??= this.#letGo();
    await this.#finishing;
  }

  get #numLines(): number {
    return this.#input?.numLines ?? 0;
  }

  async #open(): Promise<Ending | null> {
    if (this.#record.status === 'validating') await this.#validate();
    if (this.#record.status === 'failed') return null;
    const { ending, expiresAt } = this.#record;
    if (this.#isChecked) await this.#openFiles();
    if (ending !== null) return ending;
    if (expiresAt <= this.#options.now()) return 'expired';
    return this.#isDone ? 'completed' : null;
  }

  async #validate(): Promise<void> {
    const { inputFileId, endpoint } = this.#record;
    const path = this.#options.files.pathOf(inputFileId);
    const { signal } = this.#ending;
    const { numLines, model, errors } = await validateInput(path, endpoint, signal);
    signal.throwIfAborted();
    const counts = { total: numLines, completed: 0, failed: 0 };
    const isGood = errors.length === 0;
    await this.#enter(isGood ? 'in_progress' : 'failed', { model, counts, errors: [...errors] });
  }

  async #openFiles(): Promise<void> {
    const { files } = this.#options;
    const { id, client, inputFileId, outputFileId, errorFileId } = this.#record;
    this.#input = await LineIndex.open(files.pathOf(inputFileId), LIMITS.batchLineBytes);
    this.#results = await BatchResults.open(id, {
      outputPath: files.pathOf(outputFileId),
      errorPath: files.pathOf(errorFileId),
      charge: (bytes, isError) => files.grow(isError ? errorFileId : outputFileId, client, bytes),
    });
  }

  async #run(line: number, pause: Pause): Promise<void> {
    const { work } = this.#options;
    const { endpoint, client, account } = this.#record;
    const { signal } = this.#ending;
    try {
      const input = parseInputLine((await this.#input?.read(line)) ?? '');
      const meter = work.meterOf(account);
      const caller = { client, signal, pause, ...(meter === undefined ? {} : { meter }) };
      const result = await work.run(input, endpoint, caller);
      await this.#results?.add(line, input.customId, result);
    } catch (error) {
      // A line that was given up is run again, or counts as not run.
      if (signal.aborted) return;
      void this.fail(error, line + 1);
    }
  }

  get #isDone(): boolean {
    const { completed, failed } = this.#results?.counts ?? { completed: 0, failed: 0 };
    return completed + failed >= this.#numLines;
  }

  async #letGo(): Promise<void> {
    try {
      await this.#stopLines();
      await this.#closeFiles();
      // Whoever goes on with it counts what is there again.
      this.#options.files.shrink(this.#record.outputFileId);
      this.#options.files.shrink(this.#record.errorFileId);
    } catch (error) {
      // Its state on the disk says where to go on.
      this.#options.work.logger.error({ err: error, batch: this.#record.id }, 'batch: not let go');
    }
  }

  async #stopLines(): Promise<void> {
    this.#ending.abort(new Error('the batch ends'));
    await this.#opening?.catch(() => {});
    await Promise.all(this.#inFlight);
  }

  async #closeFiles(): Promise<void> {
    await this.#input?.close();
    await this.#results?.close();
  }

  /** Whether its input was found good, by this process or an earlier one. */
  get #isChecked(): boolean {
    return this.#record.times.in_progress !== undefined;
  }

  async #finish(ending: Ending): Promise<void> {
    const stopping = this.#stopLines();
    // Told at once: whoever cancels sees it in the answer.
    if (ending === 'cancelled' && this.#record.ending === null) {
      await this.#enter('cancelling', CANCELLED);
    }
    await stopping;
    // Nothing but its last state may have failed to be kept.
    if (hasEnded(this.#record)) return this.#enter(this.#record.status, {});
    // An earlier process may have done some of it.
    if (this.#results === null && this.#isChecked) await this.#openFiles();
    if (this.#record.ending === null) await this.#enter('finalizing', { ending });
    if (ending === 'expired') await this.#expireRest();
    await this.#closeFiles();
    await this.#enter(ending, await this.#makeFiles());
  }

  async #expireRest(): Promise<void> {
    const [input, results] = [this.#input, this.#results];
    if (input === null || results === null) return;
    for (let line = 0; line < input.numLines; line++) {
      if (results.isDone(line)) continue;
      await results.addExpired(line, parseInputLine(await input.read(line)).customId);
    }
  }

  /** Again after a crash: what is there stays as it is. */
  async #makeFiles(): Promise<Pick<BatchRecord, 'hasOutput' | 'hasErrors'>> {
    const results = this.#results;
    if (results === null) return { hasOutput: false, hasErrors: false };
    const { id, outputFileId, errorFileId } = this.#record;
    await this.#makeFile(outputFileId, `${id}_output.jsonl`, results.outputBytes);
    await this.#makeFile(errorFileId, `${id}_error.jsonl`, results.errorBytes);
    return { hasOutput: results.outputBytes > 0, hasErrors: results.errorBytes > 0 };
  }

  async #makeFile(id: string, filename: string, bytes: number): Promise<void> {
    const { files } = this.#options;
    const { client, outputSeconds } = this.#record;
    if (bytes === 0 || files.find(id, client) !== null) return;
    await files.add({ id, client, purpose: 'batch_output', filename, bytes }, outputSeconds);
  }

  async #enter(status: BatchStatus, changes: Partial<BatchRecord>): Promise<void> {
    const times = { ...this.#record.times, [status]: this.#options.now() };
    const record = { ...this.record, ...changes, status, times };
    this.#record = record;
    this.#saved = this.#saved.catch(() => {}).then(() => this.#options.save(record));
    await this.#saved;
  }
}
