/** A function as Lambda runs it: a process that is given events. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const RUNTIME = fileURLToPath(new URL('./lambda-runtime.mjs', import.meta.url));

interface Message {
  readonly metadata?: { statusCode: number; headers: Record<string, string> };
  readonly chunk?: string;
  readonly isEnd?: true;
}

export interface StreamedAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly string[];
}

export class LambdaFunction {
  readonly #child: ChildProcess;

  /** @param module of the handler. @param execPath Node.js, if not this one */
  constructor(module: string, env: NodeJS.ProcessEnv, execPath: string = process.execPath) {
    this.#child = fork(RUNTIME, [pathToFileURL(resolve(module)).href], {
      env: { ...process.env, ...env },
      execArgv: [],
      execPath,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
  }

  /** @param onChunk called with each piece of the body. @throws Error when the process ends */
  async post(path: string, body: object, onChunk: (chunk: string) => void = () => {}) {
    return this.send(
      { method: 'POST', path, body: JSON.stringify(body) },
      { 'content-type': 'application/json' },
      onChunk,
    );
  }

  async send(
    { method, path, body }: { method: string; path: string; body?: string },
    headers: Readonly<Record<string, string>> = {},
    onChunk: (chunk: string) => void = () => {},
  ): Promise<StreamedAnswer> {
    const [rawPath = '', rawQueryString = ''] = path.split('?');
    const chunks: string[] = [];
    let metadata: Message['metadata'];
    return new Promise((done, reject) => {
      const failed = (code: unknown) =>
        reject(new Error(`the function ended with ${String(code)}`));
      const take = (message: Message) => {
        metadata ??= message.metadata;
        if (message.chunk !== undefined && message.chunk !== '') {
          chunks.push(message.chunk);
          onChunk(message.chunk);
        }
        if (message.isEnd !== true) return;
        this.#child.off('message', take).off('exit', failed);
        if (metadata === undefined) reject(new Error('the answer has no metadata'));
        else done({ ...metadata, chunks });
      };
      this.#child.on('message', take).once('exit', failed);
      this.#child.send({
        version: '2.0',
        rawPath,
        rawQueryString,
        headers: { host: 'abc.lambda-url.eu-central-1.on.aws', ...headers },
        requestContext: { http: { method, sourceIp: '203.0.113.9' } },
        ...(body === undefined
          ? {}
          : { body: Buffer.from(body).toString('base64'), isBase64Encoded: true }),
      });
    });
  }

  /** Ends it as a server is ended. */
  async finish(): Promise<void> {
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await closed;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }
}
