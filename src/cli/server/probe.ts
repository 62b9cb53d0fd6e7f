/** `chairlift probe`: a health check for containers and supervisors. */
import http from 'node:http';
import https from 'node:https';
import { isIPv6 } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Options } from '../../settings/options.ts';
import type { Settings } from '../../settings/settings.ts';
import { hostOfPorts, socketPathOf } from '../../net/unix-address.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { told } from '../../told.ts';

type ProbeOptions = Options<'host' | 'port' | 'metricsPort' | 'tlsCert'>;

/** Time for an answer, in milliseconds: one that takes longer is as bad as none. */
const ANSWER_MS = 5000;

/** `chairlift probe`: asks the server that flags, environment and file describe, as for `serve`. */
export async function probe({ options }: Settings<'probe'>): Promise<void> {
  try {
    const url = probeUrl(options, options.ready ? '/ready' : '/livez');
    console.log(await ask(url, ANSWER_MS, probeSocket(options)));
  } catch (error) {
    console.error(`chairlift: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

/**
 * Where the server of these flags is asked: at its port for metrics, if it has one, which no flood of
 * clients takes.
 * @throws UsageError without a fixed port
 */
export function probeUrl({ host, port, metricsPort, tlsCert }: ProbeOptions, path: string): URL {
  const hasMetricsPort = isFixed(metricsPort);
  // The name is in the request alone: the socket's file says where it goes.
  if (probeSocket({ host, metricsPort }) !== null) return new URL(`http://localhost${path}`);
  const chosen = hasMetricsPort ? metricsPort : port;
  if (chosen === 0) throw new UsageError('probe needs a port other than 0');
  const bound = hostOfPorts(host);
  const reached = bound === '0.0.0.0' ? '127.0.0.1' : bound === '::' ? '::1' : bound;
  const scheme = tlsCert === undefined || hasMetricsPort ? 'http' : 'https';
  return new URL(`${scheme}://${isIPv6(reached) ? `[${reached}]` : reached}:${chosen}${path}`);
}

/** Path of the unix socket by which it is asked; null for TCP. */
function probeSocket({
  host,
  metricsPort,
}: Pick<ProbeOptions, 'host' | 'metricsPort'>): string | null {
  return isFixed(metricsPort) ? null : socketPathOf(host);
}

function isFixed(port: number | undefined): port is number {
  return port !== undefined && port !== 0;
}

/**
 * The body of a 200.
 * @param answerMs time for the answer
 * @param socketPath of the unix socket by which it is asked; null for TCP
 * @throws Error with what is wrong
 */
export async function ask(
  url: URL,
  answerMs = ANSWER_MS,
  socketPath: string | null = null,
): Promise<string> {
  const signal = AbortSignal.timeout(answerMs);
  try {
    const { status, body } = await get(url, signal, socketPath);
    if (status === 200) return body;
    throw new Error(`${url.href} answered ${status}: ${told(body, 300)}`);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`${url.href} did not answer within ${answerMs / 1000} s`, { cause: error });
  }
}

function get(
  url: URL,
  signal: AbortSignal,
  socketPath: string | null,
): Promise<{ status: number; body: string }> {
  const { get: send } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    // A restart, which is what follows, mends no certificate; and no name is asked for.
    const how = {
      signal,
      agent: false,
      rejectUnauthorized: false,
      ...(socketPath && { socketPath }),
    };
    const request = send(url, how, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    });
    request.on('error', reject);
  });
}
