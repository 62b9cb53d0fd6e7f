/** Batches of all clients: kept on disk, and run in turn by what others leave of the engine. */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../files/durable.ts';
import { lockFolder } from '../../files/folder-lock.ts';
import { LIMITS } from '../../limits.ts';
import { tooManyBatches, unavailable } from '../errors.ts';
import { createId } from '../ids.ts';
import { BatchJob } from './batch-job.ts';
import { type BatchRecord, batchRecord, hasEnded, NO_USAGE } from './batch-record.ts';
import { FileStore } from './file-store.ts';
import { JobTurns } from './job-turns.ts';
import type { LineWork } from './line-work.ts';

/** Milliseconds between looks for batches whose time is over. */
const EXPIRE_MS = 5000;

export interface BatchServiceOptions {
  readonly folder: string;
  /** Of files and results together. */
  readonly maxBytes: number;
  /** Lines that run or wait for a place at once. */
  readonly maxInFlight: number;
  /** Unix time in seconds; for tests. */
  readonly now?: () => number;
}

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
   * @throws FolderTakenError if another process has the folder; Error if it can't be read
   */
  static async open(options: BatchServiceOptions): Promise<BatchService> {
    const { folder, maxBytes, now = unixTime } = options;
    await mkdir(join(folder, 'batches'), { recursive: true, mode: 0o700 });
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

  /** Takes up what an earlier process left. */
  start(work: LineWork): void {
    this.#work = work;
    for (const record of this.#records.values()) {
      if (!hasEnded(record)) this.#begin(work, record);
    }
    const stopSweeping = this.files.startSweeping((id) => this.#usesFile(id));
    const timer = setInterval(() => this.#expire(), EXPIRE_MS);
    timer.unref();
    this.#stopTimers = () => {
      stopSweeping();
      clearInterval(timer);
    };
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
    const work = this.#work;
    if (work === null || this.#closing !== null) throw unavailable('No batches are run now.');
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
    this.#begin(work, record);
    return record;
  }

  /** Null for a batch that there is not, or that is another client's. */
  find(id: string, client: string): BatchRecord | null {
    const record = this.#jobs.get(id)?.record ?? this.#records.get(id);
    return record?.client === client ? record : null;
  }

  /** The newest first. */
  list(client: string): BatchRecord[] {
    const own = [...this.#records.keys()].flatMap((id) => this.find(id, client) ?? []);
    return own.toReversed();
  }

  /** Has it end; what is done of it stays. Nothing happens to one that has ended. */
  cancel(id: string): void {
    void this.#jobs.get(id)?.end('cancelled');
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

  #begin(work: LineWork, record: BatchRecord): void {
    const job = new BatchJob(record, {
      files: this.files,
      work,
      now: this.#now,
      save: (changed) => this.#save(changed),
    });
    this.#jobs.set(record.id, job);
    this.#turns.add(record.client, job, () => this.#jobs.delete(record.id));
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
