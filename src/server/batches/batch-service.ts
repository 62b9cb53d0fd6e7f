/** Batches of all clients: kept on disk, and run in turn by what others leave of the engine. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../files/durable.ts';
import { lockFolder } from '../../files/folder-lock.ts';
import { LIMITS } from '../../limits.ts';
import { unavailable } from '../errors.ts';
import { createId } from '../ids.ts';
import { BatchJob } from './batch-job.ts';
import { type BatchRecord, batchRecord, hasEnded, NO_USAGE } from './batch-record.ts';
import { FileStore } from './file-store.ts';
import { JobTurns } from './job-turns.ts';
import type { LineWork } from './line-work.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { tooManyBatches } from './errors.ts';

/** Milliseconds between looks for batches whose time is over. */
const EXPIRE_MS = 5000;

export interface BatchServiceOptions {
  readonly folder: string;
  /** Bytes of files and results together. */
  readonly maxBytes: number;
  /** Lines that run or wait for a place at once. */
  readonly maxInFlight: number;
  /** Unix time in seconds; for tests. */
  readonly now?: () => number;
}

type IsKnown = (client: string) => boolean;

export type NewBatch = Pick<
  BatchRecord,
  'client' | 'account' | 'endpoint' | 'inputFileId' | 'outputSeconds' | 'metadata'
>;

export class BatchService {
  readonly files: FileStore;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #unlock: () => void;
  readonly #turns: JobTurns;
  /** In order of their making. */
  readonly #records = new Map<string, BatchRecord>();
  readonly #jobs = new Map<string, BatchJob>();
  #work: LineWork | null = null;
  #isKnown: IsKnown = () => true;
  #reconciling: Promise<void> = Promise.resolve();
  #stopTimers: () => void = () => {};
  #closing: Promise<void> | null = null;

  private constructor(options: BatchServiceOptions, files: FileStore, unlock: () => void) {
    this.files = files;
    this.#folder = join(options.folder, 'batches');
    this.#now = options.now ?? unixTime;
    this.#unlock = unlock;
    this.#turns = new JobTurns(options.maxInFlight);
  }

  /**
   * Reads what is in the folder; nothing runs before `start`.
   * @throws UserError if another process has the folder; Error if it can't be read
   */
  static async open(options: BatchServiceOptions): Promise<BatchService> {
    const { folder, maxBytes, now = unixTime } = options;
    await makeFolder(join(folder, 'batches'), 0o700);
    const unlock = lockFolder(folder);
    try {
      const files = await FileStore.open(join(folder, 'files'), maxBytes, now);
      const service = new BatchService(options, files, unlock);
      await service.#read();
      return service;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  /**
   * Takes up what an earlier process left.
   * @param isKnown whether a client still has a key
   */
  start(work: LineWork, isKnown: IsKnown = () => true): void {
    this.#work = work;
    this.#isKnown = isKnown;
    this.#goOn();
    const stopSweeping = this.files.startSweeping((id) => this.#usesFile(id));
    const timer = setInterval(() => this.#expire(), EXPIRE_MS);
    timer.unref();
    this.#stopTimers = () => {
      stopSweeping();
      clearInterval(timer);
    };
  }

  /**
   * After a change of keys: suspends the batches of clients that have none any more, and goes on with
   * those of clients that have one again.
   */
  reconcile(): Promise<void> {
    this.#reconciling = this.#reconciling.then(async () => {
      const clients = new Set(Array.from(this.#jobs.values(), ({ record }) => record.client));
      for (const client of clients) if (!this.#isKnown(client)) await this.#park(client);
      this.#goOn();
    });
    return this.#reconciling;
  }

  async #park(client: string): Promise<void> {
    await this.#turns.drop(client);
    const own = [...this.#jobs].filter(([, { record }]) => record.client === client);
    for (const [id, job] of own) {
      await job.suspend();
      this.#records.set(id, job.record);
      this.#jobs.delete(id);
    }
  }

  #goOn(): void {
    for (const record of this.#suspended()) {
      if (this.#isKnown(record.client)) this.#begin(record);
    }
  }

  /** Those of clients without a key. */
  #suspended(): BatchRecord[] {
    return [...this.#records.values()].filter(
      (each) => !hasEnded(each) && !this.#jobs.has(each.id),
    );
  }

  /** Stops all work. What is not done is left for the next process. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopTimers();
    this.#turns.close();
    await Promise.all(Array.from(this.#jobs.values(), (job) => job.suspend()));
    this.#unlock();
  }

  /** @throws ApiError 429 if the client has too many that have not ended, 503 after `close` */
  async create(batch: NewBatch): Promise<BatchRecord> {
    if (this.#work === null || this.#closing !== null) throw unavailable('No batches are run now.');
    this.#requireRoom(batch.client);
    const createdAt = this.#now();
    const record: BatchRecord = {
      ...batch,
      id: createId('batch_'),
      outputFileId: this.files.newId(),
      errorFileId: this.files.newId(),
      status: 'validating',
      ending: null,
      times: {},
      createdAt,
      expiresAt: createdAt + LIMITS.batchSeconds,
      errors: [],
      model: null,
      counts: { total: 0, completed: 0, failed: 0 },
      usage: NO_USAGE,
      hasOutput: false,
      hasErrors: false,
    };
    // Held at once, so that many that come together find the room taken.
    this.#records.set(record.id, record);
    await this.#save(record);
    await this.#forgetOldest(batch.client);
    // A change of keys may have begun it meanwhile.
    if (!this.#jobs.has(record.id)) this.#begin(record);
    return record;
  }

  /** Batch by its id; null if it does not exist, or is another client's. @param client null for any */
  find(id: string, client: string | null): BatchRecord | null {
    const record = this.#jobs.get(id)?.record ?? this.#records.get(id);
    return record !== undefined && (client === null || record.client === client) ? record : null;
  }

  /** The newest first. @param client null for all */
  list(client: string | null): BatchRecord[] {
    const own = [...this.#records.keys()].flatMap((id) => this.find(id, client) ?? []);
    return own.toReversed();
  }

  /**
   * Has it end; what is done of it stays. Nothing happens to one that has ended.
   * @throws the error of the file system
   */
  async cancel(id: string): Promise<void> {
    const suspended = this.#suspended().find((record) => record.id === id);
    if (suspended !== undefined) this.#begin(suspended);
    await this.#jobs.get(id)?.cancel();
  }

  /** Whether a batch that has not ended reads or writes a file. */
  isInUse(fileId: string): boolean {
    return this.#usesFile(fileId);
  }

  async #read(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.json'));
    const records = await Promise.all(
      names.map(async (name) =>
        batchRecord.parse(JSON.parse(await readFile(join(this.#folder, name), 'utf8'))),
      ),
    );
    for (const record of records.toSorted((a, b) => a.createdAt - b.createdAt)) {
      this.#records.set(record.id, record);
    }
    const open = records.filter((record) => !hasEnded(record));
    const written = open.flatMap(({ outputFileId, errorFileId }) => [outputFileId, errorFileId]);
    await this.files.removeUnknown(new Set(written));
  }

  #begin(record: BatchRecord): void {
    const { id, client } = record;
    this.#turns.add({
      client,
      job: this.#newJob(record),
      onEnd: () => this.#jobs.delete(id),
      again: () => {
        const left = this.find(id, client);
        if (left === null || hasEnded(left) || !this.#isKnown(client)) return null;
        return this.#newJob(left);
      },
    });
  }

  #newJob(record: BatchRecord): BatchJob {
    const work = this.#work;
    if (work === null) throw new Error('batches run after `start`');
    const job = new BatchJob(record, {
      files: this.files,
      work,
      now: this.#now,
      save: (changed) => this.#save(changed),
    });
    this.#jobs.set(record.id, job);
    return job;
  }

  async #save(record: BatchRecord): Promise<void> {
    this.#records.set(record.id, record);
    await writeDurably(this.#pathOf(record.id), JSON.stringify(record));
  }

  #requireRoom(client: string): void {
    const open = [...this.#records.values()].filter((record) => !hasEnded(record));
    const own = open.filter((record) => record.client === client);
    if (own.length < LIMITS.clientOpenBatches && open.length < LIMITS.openBatches) return;
    throw tooManyBatches(LIMITS.clientOpenBatches);
  }

  async #forgetOldest(client: string): Promise<void> {
    const own = [...this.#records.values()].filter((record) => record.client === client);
    const oldest = own.find(hasEnded);
    if (own.length <= LIMITS.clientBatches || oldest === undefined) return;
    this.#records.delete(oldest.id);
    await rm(this.#pathOf(oldest.id), { force: true });
  }

  #usesFile(id: string): boolean {
    const open = [...this.#records.values()].filter((record) => !hasEnded(record));
    return open.some(({ inputFileId, outputFileId, errorFileId }) =>
      [inputFileId, outputFileId, errorFileId].includes(id),
    );
  }

  #expire(): void {
    for (const record of this.#suspended()) {
      if (record.expiresAt <= this.#now()) this.#begin(record);
    }
    for (const job of this.#jobs.values()) {
      if (job.record.expiresAt <= this.#now()) void job.end('expired');
    }
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }
}

function unixTime(): number {
  return Math.floor(Date.now() / 1000);
}
