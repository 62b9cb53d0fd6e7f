/**
 * AWS Lambda's entry, for functions whose answers stream (deploy/lambda): a server starts with the
 * function, outside of the handler, and each event is a request to it.
 */
import type { Writable } from 'node:stream';
import { startEngineEarly } from '../front/engine-process/engine-process.ts';
import { usableCores } from '../ort/usable-cores.ts';
import type { FunctionUrlEvent, HttpMetadata } from './answer-event.ts';

/** As Lambda's runtime for Node.js has it. */
interface LambdaRuntime {
  streamifyResponse(
    handler: (event: FunctionUrlEvent, stream: Writable) => Promise<void>,
  ): (event: FunctionUrlEvent, stream: Writable) => Promise<void>;
  readonly HttpResponseStream: { from(stream: Writable, metadata: HttpMetadata): Writable };
}

declare const awslambda: LambdaRuntime;

// The engine's process loads its code and ONNX Runtime while this one loads the front's code.
startEngineEarly(Number(process.env['CHAIRLIFT_THREADS']) || usableCores());
const { serveSettings } = await import('../settings/open-settings.ts');
const { serve } = await import('../cli/serve/serve.ts');
const { answerEvent } = await import('./answer-event.ts');

// The first event is waiting already, and is what a model gets warm with.
process.env['CHAIRLIFT_WARMUP'] ??= 'off';
const { url } = await serve(await serveSettings(['--host', '127.0.0.1', '--port', '0']));

export const handler = awslambda.streamifyResponse((event, stream) =>
  answerEvent(url, event, (metadata) => awslambda.HttpResponseStream.from(stream, metadata)),
);
