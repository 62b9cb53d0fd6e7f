import type { z } from 'zod';
import type { ErrorStatus } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

/** A route of this server, with what it takes and gives. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** With `{name}` for what varies. */
  readonly path: string;
  /** Second path of the operation. */
  readonly alias?: string;
  readonly tag: string;
  readonly summary: string;
  readonly notes?: string;
  readonly body?: z.ZodObject;
  /** Type of a file that is taken in place of a JSON body. */
  readonly fileType?: 'image/*';
  /** A request without a body is taken too. */
  readonly isBodyOptional?: boolean;
  readonly query?: z.ZodObject;
  /** Fields of a form with a file, in place of a body. */
  readonly form?: z.ZodObject;
  /** A complete body that works; it names no model, so that the one that is loaded answers. */
  readonly example?: JsonObject;
  /** Answer to such a body. Each answer has at least these fields. */
  readonly answer?: JsonObject;
  /** Fields of the answer that may be null or left out. */
  readonly optionalFields?: readonly string[];
  /** Schema of an answer that is not an object, or whose fields vary. */
  readonly answerSchema?: JsonObject;
  readonly answerType?:
    | 'application/json'
    | 'application/jsonl'
    | 'text/plain'
    | 'text/html'
    | 'text/event-stream';
  /** Type of the answer for clients that ask for another form. */
  readonly otherType?: 'application/octet-stream' | 'text/html';
  /** Answers with events when `stream` is set; with lines of JSON unless it is false. */
  readonly streams?: true | 'lines';
  /** Statuses in addition to those that follow from method, path, query and body. */
  readonly errors?: readonly ErrorStatus[];
  /** Served without an API key. */
  readonly isOpen?: boolean;
}
