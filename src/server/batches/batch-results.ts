/** The results of a batch: which lines are done, and what they came to. */
import { UserError } from '../../user-error.ts';
import type { JsonObject } from '../json-object.ts';
import { type BatchUsage, NO_USAGE } from './batch-record.ts';
import type { LineResult } from './line-work.ts';
import { ResultLog } from './result-log.ts';

interface ResultFiles {
  readonly outputPath: string;
  readonly errorPath: string;
  /** Counts bytes before they are written. @throws when there may be no more */
  readonly charge: (bytes: number, isError: boolean) => void;
}

const EXPIRED = {
  code: 'batch_expired',
  message: 'This request could not be executed before the completion window expired.',
};

/**
 * Every line of the input gets one line in one of two files. The number of the input's line is part
 * of a result's id: after a crash it says what is done.
 */
export class BatchResults {
  readonly #output: ResultLog;
  readonly #errors: ResultLog;
  readonly #charge: ResultFiles['charge'];
  readonly #idPrefix: string;
  readonly #done = new Set<number>();
  #numFailed = 0;
  #usage: BatchUsage = NO_USAGE;

  private constructor(
    idPrefix: string,
    output: ResultLog,
    errors: ResultLog,
    charge: ResultFiles['charge'],
  ) {
    this.#idPrefix = idPrefix;
    this.#output = output;
    this.#errors = errors;
    this.#charge = charge;
  }

  /** @param id of the batch */
  static async open(
    id: string,
    { outputPath, errorPath, charge }: ResultFiles,
  ): Promise<BatchResults> {
    const idPrefix = `batch_req_${id.replace(/^batch_/, '')}_`;
    const found: { readonly result: JsonObject; readonly isError: boolean }[] = [];
    const open = (path: string, isError: boolean) =>
      ResultLog.open(path, (result) => {
        // Only the counts of an answer are kept.
        found.push({ result: { id: result['id'], usage: usageIn(result) }, isError });
      });
    const output = await open(outputPath, false);
    const errors = outputPath === errorPath ? output : await open(errorPath, true);
    charge(output.numBytes, false);
    if (errors !== output) charge(errors.numBytes, true);
    const results = new BatchResults(idPrefix, output, errors, charge);
    for (const { result, isError } of found) {
      const resultId = String(result['id']);
      if (!resultId.startsWith(idPrefix))
        throw new UserError(`${outputPath} has the results of another input file`);
      const line = Number(resultId.slice(idPrefix.length));
      results.#count(line, isError, result['usage']);
    }
    return results;
  }

  /** Number of lines that are done. */
  get counts(): { readonly completed: number; readonly failed: number } {
    return { completed: this.#done.size - this.#numFailed, failed: this.#numFailed };
  }

  get usage(): BatchUsage {
    return this.#usage;
  }

  get outputBytes(): number {
    return this.#output.numBytes;
  }

  get errorBytes(): number {
    return this.#errors.numBytes;
  }

  /** @param line its number, from 0 */
  isDone(line: number): boolean {
    return this.#done.has(line);
  }

  /** Fulfilled once it is on the disk: from then on the line is done. */
  async add(line: number, customId: string, { status, requestId, body, usage }: LineResult) {
    const isError = status !== 200;
    const head = JSON.stringify({ status_code: status, request_id: requestId }).slice(0, -1);
    const response = [Buffer.from(`${head},"body":`), ...body, Buffer.from('}')];
    await this.#append(line, customId, isError, response, null);
    this.#count(line, isError, usage);
  }

  /** For a line that was not run. */
  async addExpired(line: number, customId: string): Promise<void> {
    await this.#append(line, customId, true, [Buffer.from('null')], EXPIRED);
    this.#count(line, true, null);
  }

  async close(): Promise<void> {
    await this.#output.close();
    if (this.#errors !== this.#output) await this.#errors.close();
  }

  async #append(
    line: number,
    customId: string,
    isError: boolean,
    response: readonly Uint8Array[],
    error: JsonObject | null,
  ): Promise<void> {
    const id = `${this.#idPrefix}${line}`;
    const head = JSON.stringify({ id, custom_id: customId }).slice(0, -1);
    const pieces = [
      Buffer.from(`${head},"response":`),
      ...response,
      Buffer.from(`,"error":${JSON.stringify(error)}}\n`),
    ];
    let numBytes = 0;
    for (const { length } of pieces) numBytes += length;
    this.#charge(numBytes, isError);
    await (isError ? this.#errors : this.#output).append(pieces);
  }

  #count(line: number, isError: boolean, usage: unknown): void {
    this.#done.add(line);
    if (isError) this.#numFailed++;
    this.#usage = sum(this.#usage, usage);
  }
}

function usageIn({ response }: JsonObject): unknown {
  const body: unknown = Object(response).body;
  return Object(body).usage;
}

function sum(before: BatchUsage, usage: unknown): BatchUsage {
  // Completions and responses call the same by different names.
  const used = Object(usage);
  const input = used.prompt_tokens_details ?? used.input_tokens_details;
  const output = used.completion_tokens_details ?? used.output_tokens_details;
  return {
    inputTokens: before.inputTokens + count(used.prompt_tokens ?? used.input_tokens),
    cachedTokens: before.cachedTokens + count(Object(input).cached_tokens),
    outputTokens: before.outputTokens + count(used.completion_tokens ?? used.output_tokens),
    reasoningTokens: before.reasoningTokens + count(Object(output).reasoning_tokens),
  };
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
