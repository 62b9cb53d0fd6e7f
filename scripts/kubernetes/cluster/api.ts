/** Kubernetes' server, asked without a program for each question. */
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { join } from 'node:path';
import { until } from '../../../test/support/processes.ts';
import { programPath } from '../programs.ts';
import { KUBECONFIG } from './control-plane.ts';
import { findMachine, STATE } from './state.ts';

const SOCKET = join(STATE, 'api.sock');

export class Api {
  static async start(): Promise<Api> {
    const flags = [`--kubeconfig=${KUBECONFIG}`, `--unix-socket=${SOCKET}`];
    findMachine('control').spawn('kubectl-proxy', programPath('kubectl'), 'proxy', ...flags);
    await until(() => existsSync(SOCKET), 'a socket of the server');
    return new Api();
  }

  /** @returns what is at a path, or null where the server says that there is nothing */
  get(path: string): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const asked = request({ socketPath: SOCKET, path, headers: { host: 'localhost' } });
      asked.on('error', reject).on('response', (answer) => {
        const { statusCode = 0 } = answer;
        json(answer).then((body) => resolve(statusCode < 300 ? body : null), reject);
      });
      asked.end();
    });
  }
}
