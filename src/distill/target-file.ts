import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { readMembers, toMember } from './gzip-members.ts';
import type { TargetRecord, TargetsHeader } from './target-record.ts';
import { UserError } from '../user-error.ts';

/**
 * Soft targets on the disk: lines of JSON in gzip, the header first. A record is written as soon as
 * its text is done, so that whatever ends the process costs the texts that were running.
 */
export class TargetFile {
  readonly #file: FileHandle;
  readonly #done: Set<number>;
  #numBytes: number;

  private constructor(file: FileHandle, done: Set<number>, numBytes: number) {
    this.#file = file;
    this.#done = done;
    this.#numBytes = numBytes;
  }

  /**
   * Opens a file to go on with, or makes it. A last record that was cut off is removed.
   * @throws UserError if it is another file, or its targets were made in another way
   */
  static async open(path: string, header: TargetsHeader): Promise<TargetFile> {
    const file = await open(path, 'a+', 0o644);
    try {
      const done = new Set<number>();
      let end = 0;
      for await (const member of readMembers(file, path)) {
        const record = JSON.parse(member.text) as TargetRecord | TargetsHeader;
        if (end === 0) requireSame(record, header, path);
        else if ('line' in record) done.add(record.line);
        end = member.end;
      }
      await file.truncate(end);
      const targets = new TargetFile(file, done, end);
      if (end === 0) targets.#append(header);
      return targets;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get numBytes(): number {
    return this.#numBytes;
  }

  get numDone(): number {
    return this.#done.size;
  }

  /** @param line of the prompts, from 0 */
  isDone(line: number): boolean {
    return this.#done.has(line);
  }

  add(record: TargetRecord): void {
    this.#append(record);
    this.#done.add(record.line);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** At once, so that no two are written into one another. */
  #append(record: TargetRecord | TargetsHeader): void {
    const bytes = toMember(`${JSON.stringify(record)}\n`);
    for (let written = 0; written < bytes.length;) {
      written += writeSync(this.#file.fd, bytes, written);
    }
    this.#numBytes += bytes.length;
  }
}

function requireSame(found: object, header: TargetsHeader, path: string): void {
  if (isDeepStrictEqual(found, header)) return;
  const differing = Object.entries(header)
    .filter(([name, value]) => Reflect.get(found, name) !== value)
    .map(
      ([name, value]) => `${name} was ${JSON.stringify(Reflect.get(found, name))}, now ${value}`,
    );
  throw new UserError(
    `${path} was made with other settings: ${differing.join('; ')}. Give another --out`,
  );
}
