import type { z } from 'zod';
import type { ErrorStatus } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

/** A route of this server, with what it takes and gives. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** With `{name}` for what varies. */
  readonly path: string;
  /** Where else it is. */
  readonly alias?: string;
  readonly tag: string;
  readonly summary: string;
  readonly notes?: string;
  readonly body?: z.ZodObject;
  /** A request without a body is taken too. */
  readonly isBodyOptional?: boolean;
  readonly query?: z.ZodObject;
  /** Of a form with a file, in place of a body. */
  readonly form?: z.ZodObject;
  /** A complete body that works; it names no model, so that the one that is loaded answers. */
  readonly example?: JsonObject;
  /** What such a body is answered with. Each answer has at least these fields. */
  readonly answer?: JsonObject;
  /** Of these fields, those that are null or left out at times. */
  readonly optionalFields?: readonly string[];
  /** Of JSON that is no object, or has other fields at other times. */
  readonly answerSchema?: JsonObject;
  readonly answerType?:
    | 'application/json'
    | 'application/jsonl'
    | 'text/plain'
    | 'text/html'
    | 'text/event-stream';
  /** What it answers to those who ask for it in another way. */
  readonly otherType?: 'application/octet-stream' | 'text/html';
  /** Answers with events when `stream` is set; with lines of JSON unless it is false. */
  readonly streams?: true | 'lines';
  /** Statuses besides those that follow from method, path, query and body. */
  readonly errors?: readonly ErrorStatus[];
  /** Served without an API key. */
  readonly isOpen?: boolean;
}
