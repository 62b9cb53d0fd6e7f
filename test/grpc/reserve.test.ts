/** Connections that are kept for probes and the operator. */
import { Client, credentials, status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { Health } from '../../src/grpc/proto/health_pb.ts';
import { GRPCInferenceService } from '../../src/grpc/proto/inference_pb.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../src/server/auth/api-keys.ts';
import { babbles } from '../server/support/test-server.ts';
import { duplex, statusOf, unary, useGrpcServers } from './support/grpc-client.ts';
import { textRequest } from './support/requests.ts';

const server = useGrpcServers();
const methods = GRPCInferenceService.method;

test('when all connections are at work, a probe and the operator are answered, and nobody else', async () => {
  const keys = new ApiKeys(unnamedKeys(['user']), digestOf('admin'));
  const options = { keys, publicHealth: true, maxConnections: 1, script: babbles };
  const { client, grpc } = await server({ ...options, maxModelLen: 1_000_000 });
  const metadata = { 'x-api-key': 'user' };
  const busy = duplex(client, methods.modelStreamInfer, { metadata });
  busy.send(textRequest('Hi', { max_tokens: 900_000 }, { stream: true }));
  await busy.next();
  const late = async (ask: (other: Client) => Promise<unknown>): Promise<unknown> => {
    // Clients of an address share a connection unless they are told not to.
    const own = { 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_retries': 0 };
    const other = new Client(`localhost:${grpc.port}`, credentials.createInsecure(), own);
    return ask(other).finally(() => other.close());
  };
  expect(await late((other) => unary(other, Health.method.check, {}))).toMatchObject({ status: 1 });
  const index = (headers: Record<string, string>) => (other: Client) =>
    unary(other, methods.repositoryIndex, {}, { metadata: headers });
  expect(await late(index({ 'x-api-key': 'admin' }))).toMatchObject({ models: [{}] });
  expect(await statusOf(late(index(metadata)))).toMatchObject({
    code: status.UNAVAILABLE,
    details: 'All 1 connections are in use.',
  });
  busy.end();
});
