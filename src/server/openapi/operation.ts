import type { z } from 'zod';
import type { JsonObject } from '../json-object.ts';

/** A route of this server, with what it takes and gives. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** With `{name}` for what varies. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly notes?: string;
  readonly body?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Of a form with a file, in place of a body. */
  readonly form?: z.ZodObject;
  /** A complete body that works. */
  readonly example?: JsonObject;
  /** What such a body is answered with. */
  readonly answer?: JsonObject;
  readonly answerType?: 'application/json' | 'text/plain' | 'text/html' | 'text/event-stream';
  /** Answers with events when `stream` is set; with lines of JSON unless it is false. */
  readonly streams?: true | 'lines';
  /** Served without an API key. */
  readonly isOpen?: boolean;
}
