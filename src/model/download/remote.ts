/** Where models are downloaded from, as the download sees it: a repository of the hub, a prefix of a bucket. */
import type { Answer } from '../../net/get.ts';
import type { ModelError } from '../model-error.ts';

export interface RemoteFile {
  /** Relative, with slashes. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Text that tells its content from others', such as its hash; null where nobody says. */
  readonly tag: string | null;
}

/** Files of a model as they are at one time. */
export interface RemoteListing {
  /** Names this state in 40 hex digits: as long as no file changes, it is the same. */
  readonly commit: string;
  readonly files: readonly RemoteFile[];
}

/** A model that lies elsewhere. */
export interface Remote {
  /** For messages, such as `Qwen/Qwen3-0.6B` or `s3://bucket/qwen`. */
  readonly id: string;
  /** Name by which clients call it. */
  readonly name: string;
  /** A folder, a GGUF file, or the type of weights in its name, such as `Q4_K_M`; null if nobody says. */
  readonly file: string | null;
  /** Its folder in the cache: names of folders, one below the other. */
  readonly home: readonly string[];
  /** Such as a branch; `main` where there is one state only. */
  readonly revision: string;
  /** Name of the server that is asked, for messages. */
  readonly endpoint: string;
  /** Where the address of `endpoint` can be changed, for messages. */
  readonly addressFrom: string;
  /** Whether nobody may be asked at all. */
  readonly isOffline: boolean;

  /** Name of a folder of it, as a user writes it. */
  nameOf(folder: string): string;

  /**
   * Asks for the model's files.
   * @throws {ModelError} when there is no such model, or it may not be read; ConnectionError when nobody
   *   can be reached
   */
  list(): Promise<RemoteListing>;

  /**
   * Asks for the content of a file.
   * @param from bytes of it that are here
   * @returns status 200 with all of it, 206 with the rest, or something else
   * @throws {ConnectionError}; {ModelError} where nothing would come of asking
   */
  ask(file: RemoteFile, commit: string, from: number): Promise<Answer>;

  /** Error for an answer that is no success. @param what was asked for */
  errorOf(answer: Answer, what: string): Promise<ModelError>;

  /**
   * Whether a file that was downloaded is what it should be, as far as anybody says.
   * @throws {ConnectionError}; {ModelError} if it changed meanwhile
   */
  isWhole(file: RemoteFile, path: string): Promise<boolean>;
}
