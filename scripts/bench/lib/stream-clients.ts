/** One streamed completion over each protocol; what arrives is timed and not looked at. */
import { Agent } from 'node:http';
import { create, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { WebSocket } from 'ws';
import {
  GRPCInferenceService,
  ModelInferRequestSchema,
} from '../../../src/grpc/proto/inference_pb.ts';
import { pathOf } from '../../../src/grpc/service.ts';
import { timeEvents } from './event-stream.ts';

export interface StreamClient {
  readonly name: string;
  /** @returns when each piece of the text arrived, in milliseconds of `performance.now()` */
  time(model: string, prompt: string, maxTokens: number): Promise<readonly number[]>;
  close(): void;
}

function sampling(maxTokens: number) {
  return { max_tokens: maxTokens, temperature: 0, ignore_eos: true };
}

/** A connection for each stream. */
export function sseClient(url: string): StreamClient {
  const agent = new Agent({ keepAlive: true });
  const endpoint = new URL('/v1/completions', url);
  return {
    name: 'SSE',
    time: (model, prompt, maxTokens) =>
      timeEvents(endpoint, agent, { model, prompt, ...sampling(maxTokens), stream: true }),
    close: () => agent.destroy(),
  };
}

/** All streams on one socket. */
export async function webSocketClient(url: string): Promise<StreamClient> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/completions`);
  const streams = new Map<string, { readonly times: number[]; readonly end: () => void }>();
  let numStreams = 0;
  socket.on('message', (data: Buffer) => {
    const now = performance.now();
    const text = data.toString('latin1');
    const id = /"request_id":"(\d+)"/.exec(text)?.[1] ?? '';
    const stream = streams.get(id);
    if (text.includes('"type":"done"')) stream?.end();
    else if (text.includes('"finish_reason":null')) stream?.times.push(now);
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return {
    name: 'WebSocket',
    time: (model, prompt, maxTokens) =>
      new Promise((resolve) => {
        const id = String(numStreams++);
        const times: number[] = [];
        streams.set(id, { times, end: () => resolve(times) });
        const body = { model, prompt, ...sampling(maxTokens), stream: true };
        socket.send(JSON.stringify({ request_id: id, ...body }));
      }),
    close: () => socket.close(),
  };
}

/**
 * A call for each stream, all on one connection.
 * @param key of the API, where the server has keys
 * @param certificate of the server, in PEM, where it has TLS; whatever name it is for
 */
export function grpcClient(address: string, key?: string, certificate?: Buffer): StreamClient {
  const anyName = { checkServerIdentity: () => undefined };
  const channel =
    certificate === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(certificate, null, null, anyName);
  const client = new Client(address, channel);
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  const bytes = (text: string) => ({ bytesContents: [new Uint8Array(Buffer.from(text))] });
  return {
    name: 'gRPC',
    time(model, prompt, maxTokens) {
      const shape = [1n];
      const request = create(ModelInferRequestSchema, {
        modelName: model,
        inputs: [
          { name: 'text_input', datatype: 'BYTES', shape, contents: bytes(prompt) },
          {
            name: 'sampling_parameters',
            datatype: 'BYTES',
            shape,
            contents: bytes(JSON.stringify(sampling(maxTokens))),
          },
          { name: 'stream', datatype: 'BOOL', shape, contents: { boolContents: [true] } },
        ],
      });
      const call = client.makeBidiStreamRequest(
        pathOf(GRPCInferenceService.method.modelStreamInfer),
        (message: Buffer) => message,
        (message: Buffer) => message,
        metadata,
      );
      call.write(Buffer.from(toBinary(ModelInferRequestSchema, request)));
      call.end();
      return new Promise((resolve, reject) => {
        const times: number[] = [];
        call.on('data', () => times.push(performance.now()));
        // The last message is the end of the text.
        call.on('end', () => resolve(times.slice(0, -1)));
        call.on('error', reject);
      });
    },
    close: () => client.close(),
  };
}
