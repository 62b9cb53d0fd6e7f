/**
 * Rules of other servers' own tests for an OpenAI-compatible server, over HTTP alone. Each test is
 * numbered as in the list it comes from, and names the project whose tests it is taken from.
 *
 * CHAIRLIFT_CONFORMANCE_URL runs it against a server that is there already, such as
 * `http://127.0.0.1:8000`, with CHAIRLIFT_CONFORMANCE_KEY if that wants one; without it a server of
 * our own is started, with the embedded model.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { startServer, type ServerProcess } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { answers } from './assertions/answers.ts';
import { choices } from './assertions/choices.ts';
import { errors } from './assertions/errors.ts';
import { load } from './assertions/load.ts';
import { logprobs } from './assertions/logprobs.ts';
import { ownProcess } from './assertions/process.ts';
import { streams } from './assertions/streams.ts';
import { Target } from './support/target.ts';
import { needs } from '../support/needs.ts';

const givenUrl = process.env['CHAIRLIFT_CONFORMANCE_URL'];
const cache = await temporaryCache();
let server: ServerProcess | undefined;
let connected: Target | undefined;

const target = (): Target => {
  if (connected === undefined) throw new Error('the server has not started');
  return connected;
};

beforeAll(async () => {
  if (givenUrl === undefined) server = await startServer([], cache.env);
  const url = givenUrl ?? server?.url ?? '';
  connected = await new Target(url, process.env['CHAIRLIFT_CONFORMANCE_KEY']).connect();
});

afterAll(async () => {
  await server?.stop();
  await cache.remove();
});

describe('errors', () => {
  errors(target);
});
describe('answers', () => {
  answers(target);
});
describe('streams', () => {
  streams(target);
});
describe('log-probabilities', () => {
  logprobs(target);
});
describe('choices', () => {
  choices(target);
});
describe('load', () => {
  load(target);
});
const OWN_SERVER = { name: 'a server of its own', isThere: givenUrl === undefined };
describe('the process', needs(OWN_SERVER), () => {
  ownProcess(cache.env);
});
