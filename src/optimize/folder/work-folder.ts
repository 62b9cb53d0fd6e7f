import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFolder } from '../../files/folder-lock.ts';
import { writeDurably } from '../../files/durable.ts';
import { fileExists } from '../../files/file-exists.ts';
import { StepFolder } from './step-folder.ts';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * The folder next to the result in which it is made. A crash leaves it, and the same command goes on
 * from what is finished in it; another command for the same result begins anew.
 */
export class WorkFolder {
  readonly path: string;
  readonly #release: () => void;

  private constructor(path: string, release: () => void) {
    this.path = path;
    this.#release = release;
  }

  static pathFor(result: string): string {
    return `${result}.optimizing`;
  }

  /**
   * @param key of the plan
   * @throws {UserError} if another process is at work there
   */
  static async open(result: string, key: string): Promise<WorkFolder> {
    const path = WorkFolder.pathFor(result);
    await makeFolder(path);
    const folder = new WorkFolder(path, lockFolder(path));
    const plan = join(path, 'plan');
    if ((await readFile(plan, 'utf8').catch(() => null)) !== key) {
      await folder.#empty();
      await writeDurably(plan, key);
    }
    await rm(folder.scratch, { recursive: true, force: true });
    await mkdir(folder.scratch);
    return folder;
  }

  /** For what is worth nothing after a crash. */
  get scratch(): string {
    return join(this.path, 'scratch');
  }

  step(index: number): Promise<StepFolder> {
    return StepFolder.open(this.stepPath(index));
  }

  stepPath(index: number): string {
    return join(this.path, `step-${index}`);
  }

  /** Returns the value stored under a name before a crash, or calls `make` and stores its result. */
  async once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const path = join(this.path, `${name}.json`);
    const known = await readFile(path, 'utf8').catch(() => null);
    // As this program wrote it.
    if (known !== null) return JSON.parse(known) as T;
    const made = await make();
    await writeDurably(path, JSON.stringify(made));
    return made;
  }

  /** Moves a finished folder to where the result is to be, and removes everything else. */
  async publish(finished: string, result: string): Promise<void> {
    await rename(finished, result);
    await this.remove();
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  close(): void {
    this.#release();
  }

  /** Removes what a crash left after the result was published. */
  static async removeLeftover(result: string): Promise<void> {
    const path = WorkFolder.pathFor(result);
    if (!(await fileExists(path))) return;
    const release = lockFolder(path);
    await rm(path, { recursive: true, force: true });
    release();
  }

  async #empty(): Promise<void> {
    for (const name of await readdir(this.path)) {
      if (name !== 'lock') await rm(join(this.path, name), { recursive: true, force: true });
    }
  }
}
